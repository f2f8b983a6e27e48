package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// move gives the provider db-endpoint another address.
func (w *world) move(host string) {
	w.t.Helper()
	w.kubectl("patch", "service", "db-endpoint", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"externalName":%q}}`, host))
}

// A change of the provider reaches the files of the running container, which is
// not restarted for it.
func TestChange(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(sleeper("Deployment", "app", consumesDB))
	pod := w.running("app", 1)[0]
	container := mainStatus(&pod).ContainerID
	for _, host := range []string{"db2.tengu.io", "db3.tengu.io"} {
		w.move(host)
		w.reads(host, pod.Name, "/bindings/db/host")
	}
	w.kubectl("annotate", "service", "db-endpoint", "data.tengu.io/db=user: me")
	w.reads("me", pod.Name, "/bindings/db/user")
	w.kubectl("annotate", "service", "db-endpoint", "data.tengu.io/db-")
	w.prints("host\nprovider\ntype", "exec", pod.Name, "-c", "main", "--", "ls", "/bindings/db")
	now := w.running("app", 1)[0]
	assert.Equal(t, pod.UID, now.UID)
	assert.Equal(t, container, mainStatus(&now).ContainerID, "the same instance of the container")
}

// tengu.io/on-change: restart makes exactly one rollout for one change, none for
// the first data, and none for an edit that changes nothing (SAFETY.md L8).
func TestRestart(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(workload{kind: "Deployment", name: "app", annotations: consumesDB + `, tengu.io/on-change: restart`, replicas: 2}.yaml())
	w.running("app", 2)
	assert.Equal(t, 1, w.replicaSets("app"), "the first data is no change")

	w.move("db2.tengu.io")
	w.eventually(func() string {
		if w.replicaSets("app") == 2 {
			return ""
		}
		return "there is no second ReplicaSet"
	})
	w.kubectl("rollout", "status", "deployment/app", "--timeout=300s")
	pod := w.running("app", 2)[0]
	assert.Equal(t, "db2.tengu.io", w.sh(pod.Name, "echo $DB_HOST"), "the new data is in the variables")
	w.contains("Restarted", "get", "events", "--field-selector", "involvedObject.name=app", "-o", "jsonpath={.items[*].reason}")
	generation := w.kubectl("get", "deployment", "app", "-o", "jsonpath={.metadata.generation}")

	// What comes later has been seen when its effect is: a third application
	// is related after an edit that changes no data.
	w.kubectl("annotate", "service", "db-endpoint", "unrelated=true")
	w.apply(sleeper("Deployment", "later", consumesDB))
	w.running("later", 1)
	assert.Equal(t, 2, w.replicaSets("app"), "one change is one rollout")
	assert.Equal(t, generation, w.kubectl("get", "deployment", "app", "-o", "jsonpath={.metadata.generation}"), "and one write of the workload")
	w.prints("1", "get", "relatedapplication", "app", "-o", "go-template={{len .state.restarts.times}}")
}

// Pods of other kinds are replaced too, and a relation that is declared no more, and not retained, is deleted.
func TestRestartOfKinds(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	first := map[string]types.UID{}
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		w.apply(workload{kind: kind, name: strings.ToLower(kind), annotations: consumesDB + `, tengu.io/on-change: restart, tengu.io/retain: 0s`}.yaml())
	}
	for _, name := range []string{"statefulset", "daemonset"} {
		first[name] = w.running(name, 1)[0].UID
	}
	w.move("db2.tengu.io")
	for name, uid := range first {
		w.until(name, 1, "is another pod", func(p *corev1.Pod) bool { return p.UID != uid })
		pod := w.running(name, 1)[0]
		assert.Equal(t, "db2.tengu.io", w.sh(pod.Name, "echo $DB_HOST"), name)
	}
	w.apply(workload{kind: "DaemonSet", name: "daemonset", annotations: `tengu.io/consumes: db, tengu.io/retain: 0s`}.yaml())
	w.eventually(func() string {
		if related := w.kubectl("get", "relations", "-o", "jsonpath={.items[*].spec.requirer.application}"); related != "statefulset" {
			return "relations of " + related
		}
		return ""
	})
}

// replicaSets counts the ReplicaSets of an application: one for each rollout.
func (w *world) replicaSets(app string) int {
	w.t.Helper()
	list, err := w.client.AppsV1().ReplicaSets(w.namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	require.NoError(w.t, err)
	return len(list.Items)
}

// Nothing that merely disappears ends a relation: it is held with the reason,
// the running pod keeps its files, and what returns finds the same relation, by
// UID and id, and untouched files (SAFETY.md L5).
func TestHeld(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(sleeper("Deployment", "app", consumesDB))
	pod := w.running("app", 1)[0]
	related := w.relation("app", "db-endpoint", "ready", relationReady)
	files := w.files(pod.Name)
	tests := []struct {
		why           string
		gone, restore func()
		reason        string
	}{
		{
			why:     "the consumer no longer says with whom",
			gone:    func() { w.kubectl("annotate", "deployment", "app", "tengu.io/relations-") },
			restore: func() { w.kubectl("annotate", "deployment", "app", "tengu.io/relations=db-endpoint") },
			reason:  "DeclarationGone",
		},
		{
			why:     "the provider no longer says what",
			gone:    func() { w.kubectl("label", "service", "db-endpoint", "tengu.io/provides-") },
			restore: func() { w.kubectl("label", "service", "db-endpoint", "tengu.io/provides=db") },
			reason:  "DeclarationGone",
		},
		{
			why:     "the namespace is no longer opted in",
			gone:    func() { w.kubectl("label", "namespace", w.namespace, "tengu-injector-") },
			restore: func() { w.kubectl("label", "namespace", w.namespace, "tengu-injector=enabled") },
			reason:  "OptedOut",
		},
		{
			why:     "the provider is deleted",
			gone:    func() { w.kubectl("delete", "service", "db-endpoint") },
			restore: func() { w.apply(external("db-endpoint", "db", "db.tengu.io")) },
			reason:  "ProviderGone",
		},
	}
	for _, test := range tests {
		test.gone()
		held := w.relation("app", "db-endpoint", "held: "+test.why, relationHeld)
		is := conditionOf(held.Status.Conditions, condition.Ready)
		assert.Equal(t, test.reason, is.Reason, "%s: %s", test.why, is.Message)
		assert.Equal(t, files, w.files(pod.Name), test.why)
		test.restore()
		back := w.relation("app", "db-endpoint", "ready again: "+test.why, func(r *v1alpha1.Relation) bool { return relationReady(r) && !relationHeld(r) })
		assert.Equal(t, related.UID, back.UID, test.why)
		assert.Equal(t, related.State.ID, back.State.ID, test.why)
		assert.Equal(t, files, w.files(pod.Name), test.why)
	}
	w.move("db2.tengu.io")
	w.reads("db2.tengu.io", pod.Name, "/bindings/db/host")
	now := w.running("app", 1)[0]
	assert.Equal(t, pod.UID, now.UID)
	assert.Equal(t, mainStatus(&pod).ContainerID, mainStatus(&now).ContainerID, "the container ran all the time")
}

// files returns which version of the files a container sees, and what is in
// them: a rewrite of the same content would show.
func (w *world) files(pod string) string {
	w.t.Helper()
	return w.sh(pod, "cd /bindings && for d in *; do echo $d $(readlink $d/..data); head $d/*; done")
}
