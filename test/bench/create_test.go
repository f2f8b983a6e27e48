package bench

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// The namespaces of BenchmarkCreate, and the names under which they are told.
const (
	plain    = "plain"    // asks no webhook
	yard     = "noop"     // asks controller-runtime's no-op
	injected = "injected" // asks ours
)

// creation is one pod, to be created again and again.
type creation struct {
	*world
	body []byte
}

// BenchmarkCreate measures how long the API server takes to create one pod: in
// a namespace that did not opt in, in one whose pods our webhook injects, and,
// as a yardstick, in one whose pods controller-runtime's no-op sees. In turns
// and in random order, so that all see the same machine. The target is 2.0 ms
// between the first two medians (DESIGN.md).
func BenchmarkCreate(b *testing.B) {
	const warming, turns = 50, 500
	c := creation{newWorld(b), podOf(b)}
	for namespace, labels := range map[string]map[string]string{
		plain: nil, yard: {application.LabelOptIn: yard}, injected: {application.LabelOptIn: application.OptedIn},
	} {
		c.namespace(namespace, labels)
		c.account(namespace, "shop")
	}
	c.register(yard, startServing(b, noop).secure+"/mutate")
	hook := c.webhook()
	c.register(application.OptedIn, hook.url)
	c.asked(func() bool { _, agent := c.create(injected); return agent }) // and the no-op, which was registered before
	took := map[string][]time.Duration{}
	c.turns(warming, map[string][]time.Duration{})
	before := hook.calls(b)
	for b.Loop() {
		c.turns(turns, took)
	}
	medians := map[string]float64{}
	for namespace, all := range took {
		medians[namespace] = report(b, namespace+"-", all, "p50", "p95").at(0.50)
	}
	b.ReportMetric(medians[injected]-medians[plain], "added-ms")
	b.ReportMetric(medians[yard]-medians[plain], "noop-added-ms")
	b.ReportMetric((hook.calls(b)-before)/float64(len(took[injected])), "calls/pod")
}

// podOf is the pod of the captured request as its author would send it, held
// back from the scheduler, which would only be in the way.
func podOf(b *testing.B) []byte {
	b.Helper()
	var review struct {
		Request struct{ Object corev1.Pod }
	}
	require.NoError(b, json.Unmarshal(captured(b), &review))
	p := review.Request.Object
	p.Namespace, p.ManagedFields, p.OwnerReferences = "", nil, nil
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "orcon.tengu.io/bench"}}
	body, err := json.Marshal(p)
	require.NoError(b, err)
	return body
}

// turns creates n pods in each namespace and adds how long that took.
func (c creation) turns(n int, took map[string][]time.Duration) {
	namespaces := []string{plain, yard, injected}
	for range n {
		rand.Shuffle(len(namespaces), func(i, j int) { namespaces[i], namespaces[j] = namespaces[j], namespaces[i] })
		for _, namespace := range namespaces {
			one, agent := c.create(namespace)
			require.Equal(c, namespace == injected, agent, "whether a pod in namespace %s has an agent", namespace)
			took[namespace] = append(took[namespace], one)
		}
	}
}

// create creates the pod and tells how long that took, and whether the pod has
// an agent. The answer is not decoded: only the API server is measured.
func (c creation) create(namespace string) (took time.Duration, agent bool) {
	began := time.Now()
	answer, err := c.admin.CoreV1().RESTClient().Post().Namespace(namespace).Resource("pods").SetHeader("Content-Type", "application/json").Body(c.body).DoRaw(c.Context())
	took = time.Since(began)
	require.NoError(c, err, "cannot create a pod in namespace %s: %s", namespace, answer)
	return took, bytes.Contains(answer, []byte(`"`+injection.AgentContainer+`"`))
}
