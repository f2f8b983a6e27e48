package e2e

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// begun is a script's first line: it writes when the container began, in
// seconds since the machine did, where its status has it at the end.
const begun = "read up _ < /proc/uptime && echo $up > /dev/termination-log\n"

// uptime returns the seconds since the machine began, as pods see them too.
func uptime(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/uptime")
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), " ")
	up, err := strconv.ParseFloat(first, 64)
	require.NoError(t, err)
	return up
}

// ended waits until the n pods of app have all ended, each well, and returns
// when their containers began.
func (w *world) ended(app string, n int) []float64 {
	w.t.Helper()
	pods := w.until(app, n, "over", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	times := make([]float64, 0, n)
	for i := range pods {
		require.Equal(w.t, corev1.PodSucceeded, pods[i].Status.Phase, "pod %s missed a variable or a file", pods[i].Name)
		at, err := strconv.ParseFloat(strings.TrimSpace(mainStatus(&pods[i]).State.Terminated.Message), 64)
		require.NoError(w.t, err)
		times = append(times, at)
	}
	return times
}

// In 200 pod starts whose provider appears while they wait, the variables and
// files are complete 200 times (SAFETY.md D4): each container looks by itself,
// at the first thing it does, and has one attempt.
func TestTwoHundredStarts(t *testing.T) {
	t.Parallel()
	const batches, size = 8, 25 // beside other tests, which 50 at once would starve
	w := withOrcon(t)
	for batch := range batches {
		app, provider, host := fmt.Sprintf("app-%d", batch), fmt.Sprintf("db-%d", batch), fmt.Sprintf("db-%d.tengu.io", batch)
		w.apply(workload{
			kind: "Job", name: app, replicas: size, script: begun + complete(provider, host),
			annotations: "tengu.io/consumes: db, tengu.io/relations: " + provider,
		}.yaml())
		w.waiting(app, size)
		begin := uptime(t)
		w.apply(external(provider, "db", host))
		times := w.ended(app, size)
		for i := range times {
			times[i] -= begin
		}
		t.Logf("batch %d: %d of %d complete; provider applied → all %d applications started, together: %s", batch, len(times), size, size, spread(times))
		w.kubectl("delete", "job", app, "--wait=false")
	}
}

// The times of the gate (INJECTION.md I16), measured one pod at a time. They
// depend on the machine and are told, not judged.
func TestGateTimes(t *testing.T) {
	const opened, deleted, added = 8, 3, 3
	w := withOrcon(t)
	var all []string
	for i := range opened {
		all = append(all, gated(i, fmt.Sprintf("db-%d", i)))
	}
	for i := range deleted {
		all = append(all, gated(opened+i, "never"))
	}
	w.apply(strings.Join(all, "---"))
	var fromProvider, fromData []float64
	for i := range opened {
		pod := w.waiting(fmt.Sprintf("app-%d", i), 1)[0]
		begin := uptime(t)
		_, err := w.client.CoreV1().Services(w.namespace).Create(t.Context(), provider(fmt.Sprintf("db-%d", i)), metav1.CreateOptions{})
		require.NoError(t, err)
		start := w.ended(pod.Labels["app"], 1)[0]
		fromProvider = append(fromProvider, start-begin)
		fromData = append(fromData, start-w.gateOpened(pod.Name))
	}
	t.Logf("provider's creation sent → application started: %s", spread(fromProvider))
	t.Logf("data complete in the pod → application started: %s", spread(fromData))

	var deletions []float64
	for i := range deleted {
		deletions = append(deletions, w.deletion(w.waiting(fmt.Sprintf("app-%d", opened+i), 1)[0]).Seconds())
	}
	t.Logf("deletion of a waiting pod with 30 s of grace: %s", spread(deletions))

	var bare, related []float64
	for i := range added {
		bare = append(bare, w.startTime(workload{kind: "Pod", name: fmt.Sprintf("bare-%d", i), script: begun}))
		related = append(related, w.startTime(workload{kind: "Pod", name: fmt.Sprintf("related-%d", i), script: begun, annotations: "tengu.io/consumes: db, tengu.io/relations: db-0"}))
	}
	t.Logf("pod created → application started, without a relation: %s", spread(bare))
	t.Logf("the same with data there from the start: %s", spread(related))
}

func gated(i int, provider string) string {
	return workload{
		kind: "Pod", name: fmt.Sprintf("app-%d", i), script: begun + complete(provider, "db.tengu.io"), grace: 30,
		annotations: "tengu.io/consumes: db, tengu.io/relations: " + provider,
	}.yaml()
}

func provider(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tengu.io/provides": "db"}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.tengu.io"},
	}
}

// startTime returns the seconds from the request that creates a pod to the
// start of its container.
func (w *world) startTime(pod workload) float64 {
	w.t.Helper()
	begin := uptime(w.t)
	w.apply(pod.yaml())
	return w.ended(pod.name, 1)[0] - begin
}

// gateOpened returns when a pod's agent opened the gate, in seconds since the
// machine began: what its log says, to the millisecond.
func (w *world) gateOpened(pod string) float64 {
	w.t.Helper()
	line := regexp.MustCompile(`(?m)^I(\d{4} \d\d:\d\d:\d\d\.\d+) .*the gate is open`).FindStringSubmatch(w.log(pod, "relation-agent"))
	require.NotNil(w.t, line, "the agent of %s does not say when its gate opened", pod)
	now := time.Now().UTC()
	up := uptime(w.t)
	at, err := time.Parse("2006 0102 15:04:05.000000", strconv.Itoa(now.Year())+" "+line[1])
	require.NoError(w.t, err)
	return up - now.Sub(at).Seconds()
}

// spread describes some durations in seconds.
func spread(seconds []float64) string {
	sorted := slices.Sorted(slices.Values(seconds))
	at := func(q float64) float64 { return sorted[int(math.Ceil(q*float64(len(sorted))))-1] }
	return fmt.Sprintf("median %.2f s, 95 %% %.2f s, most %.2f s, least %.2f s (of %d)", at(0.5), at(0.95), sorted[len(sorted)-1], sorted[0], len(sorted))
}

func TestSpread(t *testing.T) {
	assert.Equal(t, "median 2.00 s, 95 % 3.00 s, most 3.00 s, least 1.00 s (of 3)", spread([]float64{3, 1, 2}))
}
