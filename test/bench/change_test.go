package bench

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// shop is the namespace in which the provider and its consumers are.
const shop = "shop"

// provider is a Service without pods, as in the demo.
const provider = "db-endpoint"

// BenchmarkChange measures how long a provider's change takes to the files of
// its consumers: from when the write to the API server is sent until a file has
// the new content, with the controller and one agent for each consumer, all of
// them processes as they ship. The target for 55 consumers is a median of 150 ms
// and a p99 of 1 s (DESIGN.md).
func BenchmarkChange(b *testing.B) {
	for _, consumers := range []int{1, 55} {
		b.Run(fmt.Sprintf("Consumers=%d", consumers), func(b *testing.B) { measureChange(b, consumers) })
	}
}

func measureChange(b *testing.B, consumers int) {
	// A change begins a second after the one before it: nothing is left of that.
	const warming, changes, apart = 3, 60, time.Second
	w := newWorld(b)
	a := w.agents(consumers)
	next := time.NewTicker(apart)
	defer next.Stop()
	n := 0
	change := func() []time.Duration {
		<-next.C
		n++
		return a.change(fmt.Sprintf("db%d.tengu.io", n))
	}
	for range warming {
		change()
	}
	var each, all []time.Duration
	for b.Loop() {
		for range changes {
			took := change()
			each, all = append(each, took...), append(all, slices.Max(took))
		}
	}
	report(b, "", each, "p50", "p95", "p99")
	report(b, "all-", all, "p50")
	b.ReportMetric(a.memory("VmRSS"), "agent-MiB")
	b.ReportMetric(a.memory("RssAnon"), "agent-anon-MiB")
}

// agents installs Orcon's kinds, runs the controller with its own authority,
// and an agent for the only pod of each of n Deployments that consume the
// provider. It returns when every agent has written what the provider says.
func (w *world) agents(n int) *agents {
	w.Helper()
	w.cluster.Kubectl(w, "apply", "-k", filepath.Join(w.root, "deployment", "crd"))
	w.cluster.Kubectl(w, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	port := freePort(w.B)
	w.run("relations-controller", "-port="+port)
	w.namespace(shop, map[string]string{application.LabelOptIn: application.OptedIn})
	w.account(shop, "shop")
	const first = "db.tengu.io"
	_, err := w.admin.CoreV1().Services(shop).Create(w.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: provider, Labels: map[string]string{application.KeyProvides: endpoint}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: first},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
	a := &agents{world: w, address: "https://127.0.0.1:" + port, trust: w.trust()}
	program := controlplane.Binary(w.B, "relation-agent")
	for _, p := range w.consumers(n) {
		a.start(program, p)
	}
	a.follow(first)
	return a
}

// trust waits for the bundle that the controller publishes, and returns it.
func (w *world) trust() (bundle string) {
	w.Helper()
	require.Eventually(w, func() bool {
		m, err := w.admin.CoreV1().ConfigMaps(shop).Get(w.Context(), certificate.TrustName, metav1.GetOptions{})
		if err != nil {
			return false
		}
		bundle = m.Data[certificate.TrustKey]
		return bundle != ""
	}, patience, 20*time.Millisecond, "the controller published no trust in namespace %s", shop)
	return bundle
}

// move is the provider's change.
func (w *world) move(host string) error {
	patch := fmt.Appendf(nil, `{"spec":{"externalName":%q}}`, host)
	_, err := w.admin.CoreV1().Services(shop).Patch(w.Context(), provider, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("cannot change the provider: %w", err)
	}
	return nil
}
