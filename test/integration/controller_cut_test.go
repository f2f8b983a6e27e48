package integration

import (
	"context"
	"encoding/pem"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// newNode returns a node for the pods of some namespaces, with the agent as it ships. It runs from begin on.
func newNode(t *testing.T, use func(context.Context, *chaosAgent), spaces ...*controllerWorld) *chaosNode {
	t.Helper()
	dir, err := os.MkdirTemp("", "node-") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	n := &chaosNode{
		dir: dir, program: controlplane.Binary(t, "relation-agent"), admin: spaces[0].admin, clients: spaces[0].cluster.Client(t),
		use: use, agents: map[types.UID]*chaosAgent{},
	}
	for _, s := range spaces {
		n.namespaces = append(n.namespaces, s.namespace)
	}
	t.Cleanup(func() {
		for _, a := range n.all() {
			if t.Failed() {
				t.Logf("%s:\n%s", a.pod, a.last())
			}
		}
	})
	return n
}

// injected gives the agent of a workload's pods the settings that the webhook takes from its annotations.
func injected(d *appsv1.Deployment) *appsv1.Deployment {
	agent, declared := &d.Spec.Template.Spec.InitContainers[0], d.Spec.Template.Annotations
	agent.Env = append(agent.Env, corev1.EnvVar{Name: "ORCON_CONSUMES", Value: declared[application.KeyConsumes]})
	if declared[application.KeyHandlers] != "" {
		agent.Env = append(agent.Env, corev1.EnvVar{Name: "ORCON_TOOLS", Value: injection.HandlerContainer})
	}
	return d
}

// binding returns the content of a file of a pod's bindings; empty if there is none.
func (a *chaosAgent) binding(name string) string {
	text, _ := os.ReadFile(filepath.Join(a.root, "bindings", name))
	return string(text)
}

// An agent is cut off while its consumer is pointed to another provider. When it is back, whether its relation's end is
// still there to be received or not, and whether its process is the same, <endpoint>/ shows the other provider (TRUST.md T7).
// The cases run one after the other: the controller of each acts in all namespaces, by a clock of its own.
func TestAgentThatWasCutOffShowsThePresentProvider(t *testing.T) {
	for name, test := range map[string]struct{ missed, killed bool }{
		"EndIsThere": {}, "EndIsGone": {missed: true}, "EndIsGoneAndItsProcess": {missed: true, killed: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newControllerWorld(t)
			c := w.controller(-1)
			one, other := w.provider("db1", "one.tengu.io"), w.provider("db2", "two.tengu.io")
			one.Labels[application.KeyProvides], other.Labels[application.KeyProvides] = "db", "db"
			declared := consumes("db", "db1")
			declared[application.KeyRetain] = "0s"
			if !test.missed {
				declared[application.KeyHandlers] = "/handlers" // the end is owed to them for ten minutes
			}
			web := injected(w.consumer("web", declared))
			w.create(one, other, web)
			pod := w.podOf("web")
			n := newNode(t, func(ctx context.Context, _ *chaosAgent) { <-ctx.Done() }, w)
			n.server, n.serving = "example.com", func() []string { return []string{c.address()} }
			n.trust = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.api.Certificate().Raw})
			t.Cleanup(n.begin(w.ctx))
			var a *chaosAgent
			shows := func(file, host string) func() bool { return func() bool { return a.binding(file) == host } }
			w.eventually("the agent", func() bool { a = n.agent(pod.UID); return a != nil })
			w.eventually("the first provider", shows("db/host", "one.tengu.io"))
			first := w.relations()["db1"]

			require.Positive(t, a.link.Cut())
			w.change(web, func() { web.Spec.Template.Annotations[application.KeyRelations] = "db2" })
			w.becomes("db2", "Complete")
			w.eventually("the end", func() bool { return w.relations()["db1"].Status.EndReason != "" || w.relations()["db1"].Name == "" })
			if test.missed {
				w.ahead.Add(int64(time.Minute)) // agents without handlers have ten seconds
				w.change(other, func() { other.Annotations = map[string]string{"note": "the controller looks again"} })
				w.eventually("nothing is left of it", func() bool { return w.relations()["db1"].Name == "" })
				w.eventually("the cache from which agents are served lacks it too", func() bool {
					return apierrors.IsNotFound(c.informers.Get(w.ctx, client.ObjectKeyFromObject(&first), &v1alpha1.Relation{}))
				})
			}
			require.True(t, !test.killed || a.kill())
			assert.Equal(t, "one.tengu.io", a.binding("db/host"), "a pod whose agent is cut off keeps its files")

			a.link.Mend()
			w.eventually("the other provider", shows("db/host", "two.tengu.io"))
			assert.Equal(t, "db2", a.binding("db/provider"))
			left := "db-" + strconv.FormatInt(first.State.ID, 10) + "/host"
			if test.missed {
				assert.Equal(t, "one.tengu.io", a.binding(left), "what was not told is not ended")
			} else {
				w.eventually("its own folder is gone", shows(left, ""))
			}
		})
	}
}
