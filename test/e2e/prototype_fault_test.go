package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// lookForFaults has a subtest for each fault that PROTOTYPE.md names.
func lookForFaults(t *testing.T, c terminal) {
	t.Run("the init container slept for ever when a variable was missing", func(t *testing.T) { sleptForEver(t, c) })
	t.Run("namespace hard-coded, and Deployments only", func(t *testing.T) { hardCoded(t, c) })
	t.Run("admission v1beta1", func(t *testing.T) { oldVersions(t, c) })
	t.Run("updates and deletions ignored", func(t *testing.T) { ignored(t, c) })
	t.Run("one value per interface name", func(t *testing.T) { oneValue(t, c) })
	t.Run("linear scans, and a client limited to 5 requests a second", func(t *testing.T) { limited(t, c) })
	t.Run("cluster-admin", func(t *testing.T) { clusterAdmin(t, c) })
	t.Run("values in plain text in env and labels", func(t *testing.T) { plainText(t, c) })
	t.Run("an invalid request could stop the process", func(t *testing.T) { stopped(t, c) })
}

// sleptForEver: the pod starts when what it waits for appears, and it is the
// same pod (INJECTION.md I16).
func sleptForEver(t *testing.T, c terminal) {
	w := c.world(t, exampleNamespace)
	w.apply(sleeper("Deployment", "patient", `tengu.io/consumes: "sse,cache", tengu.io/relations: "sse-endpoint,cache-endpoint"`))
	before := w.waiting("patient", 1)[0]
	w.apply(external("cache-endpoint", "cache", "cache.tengu.io"))
	after := w.running("patient", 1)[0]
	assert.Equal(t, before.UID, after.UID, "no new pod")
	assert.Equal(t, "1", w.kubectl("get", "deployment", "patient", "-o", `jsonpath={.metadata.annotations.deployment\.kubernetes\.io/revision}`), "no new rollout")
	assert.Equal(t, "cache.tengu.io", w.sh(after.Name, `echo "$CACHE"`))
}

// hardCoded: another namespace, and other kinds (all of them: TestKinds).
func hardCoded(t *testing.T, c terminal) {
	w := newWorld(t, c.Cluster)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(workload{kind: "StatefulSet", name: "set", annotations: consumesDB, script: complete("db-endpoint", "db.tengu.io") + "exec sleep infinity"}.yaml())
	w.apply(workload{kind: "Job", name: "job", annotations: consumesDB, script: complete("db-endpoint", "db.tengu.io")}.yaml())
	assertInjected(t, w.running("set", 1)[0])
	w.kubectl("wait", "--for=condition=Complete", "job/job", "--timeout=300s")
}

// oldVersions: what was applied is of versions that are here to stay, and the
// API server and the webhook speak admission v1. See also terminal.types.
func oldVersions(t *testing.T, c terminal) {
	for _, file := range []string{"deployment/rbac.yaml", generated, "deployment/*/*controller*.yaml", "deployment/*/service.yaml", "deployment/demo/[^k]*.yaml"} {
		versions := c.types(t, "grep -h ^apiVersion: "+file+" | sort -u")
		assert.NotRegexp(t, `v\d+(alpha|beta)\d`, versions, file)
	}
	spoken := c.types(t, "kubectl get mutatingwebhookconfiguration relations-mutating-webhook -o jsonpath='{.webhooks[*].admissionReviewVersions}'")
	assert.Equal(t, `["v1"] ["v1"] ["v1"] ["v1"]`, spoken)
}

// ignored: what changes and goes is heard of.
func ignored(t *testing.T, c terminal) {
	w := newWorld(t, c.Cluster)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(sleeper("Deployment", "app", consumesDB))
	pod := w.running("app", 1)[0]
	w.apply(external("db-endpoint", "db", "db2.tengu.io"))
	w.reads("db2.tengu.io", pod.Name, "/bindings/db/host")

	w.kubectl("delete", "service", "db-endpoint")
	gone := w.relation("app", "db-endpoint", "without its provider", func(r *v1alpha1.Relation) bool { return !relationReady(r) })
	assert.Equal(t, "ProviderGone", conditionOf(gone.Status.Conditions, condition.Ready).Reason)
	assert.Equal(t, "db2.tengu.io", w.sh(pod.Name, "cat /bindings/db/host"), "the running pod keeps what it has (SAFETY.md I19)")
	w.apply(external("db-endpoint", "db", "db3.tengu.io"))
	w.reads("db3.tengu.io", pod.Name, "/bindings/db/host")

	w.kubectl("delete", "deployment", "app")
	w.relation("app", "db-endpoint", "held", relationHeld) // SAFETY.md L5
}

// oneValue: each endpoint has its own; the variable that would be both is
// neither, and is named (SAFETY.md P9).
func oneValue(t *testing.T, c terminal) {
	w := newWorld(t, c.Cluster)
	w.apply(external("db-a", "db", "a.tengu.io") + "---" + external("db-b", "db", "b.tengu.io"))
	said := w.apply(sleeper("Deployment", "app", `tengu.io/consumes: "a:db,b:db", tengu.io/relations: "a=db-a,b=db-b"`))
	assert.Contains(t, said, "DB", "the author hears of it")
	assert.Contains(t, said, "both the interface of a and the interface of b, so it is neither")
	pod := w.running("app", 1)[0]
	assert.Equal(t, "a.tengu.io b.tengu.io none", w.sh(pod.Name, `echo "$A_HOST $B_HOST ${DB-none}"`))
	assert.Equal(t, "a.tengu.io b.tengu.io", w.sh(pod.Name, `cd /bindings; echo "$(cat a/host) $(cat b/host)"`))
	assert.Equal(t, "db-a db-b", w.sh(pod.Name, `cd /bindings; echo "$(cat a/provider) $(cat b/provider)"`))
}

// limited: many Services change at once (INJECTION.md I9). The prototype took
// 0.44 s for each.
func limited(t *testing.T, c terminal) {
	const many = 60
	w := newWorld(t, c.Cluster)
	var services []string
	for i := range many {
		services = append(services, external(fmt.Sprintf("db-%d", i), "db", fmt.Sprintf("before-%d.tengu.io", i)))
	}
	w.apply(strings.Join(services, "---"))
	w.bags(many, "before")
	begin := time.Now()
	for i := range many {
		patch := fmt.Appendf(nil, `{"spec":{"externalName":"after-%d.tengu.io"}}`, i)
		_, err := w.client.CoreV1().Services(w.namespace).Patch(t.Context(), fmt.Sprintf("db-%d", i), types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	written := time.Since(begin)
	w.bags(many, "after")
	t.Logf("%d Services were written in %s and in their Databags after %s", many, written.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
}

// bags waits until n Databags say what the Services say.
func (w *world) bags(n int, prefix string) {
	w.t.Helper()
	w.eventually(func() string {
		var list v1alpha1.DatabagList
		require.NoError(w.t, w.objects.List(w.t.Context(), &list, client.InNamespace(w.namespace)))
		right := 0
		for _, bag := range list.Items {
			if bag.State.Data["host"] == prefix+strings.TrimPrefix(bag.Spec.Application, "db")+".tengu.io" {
				right++
			}
		}
		if right == n {
			return ""
		}
		return fmt.Sprintf("%d of %d Databags are right, not %d", right, len(list.Items), n)
	})
}

// clusterAdmin: neither account may do everything, and no rule has a star.
func clusterAdmin(t *testing.T, c terminal) {
	var bindings rbacv1.ClusterRoleBindingList
	require.NoError(t, objects(t, c.Cluster).List(t.Context(), &bindings))
	for _, name := range []string{controllerName, webhookName} {
		for _, b := range bindings.Items {
			for _, s := range b.Subjects {
				assert.False(t, s.Kind == rbacv1.ServiceAccountKind && s.Name == name && b.RoleRef.Name == "cluster-admin", b.Name)
			}
		}
		as := " --as system:serviceaccount:default:" + name
		assert.Contains(t, c.types(t, "! kubectl auth can-i '*' '*' --all-namespaces"+as), "no")
		list := c.types(t, "kubectl auth can-i --list"+as)
		assert.NotContains(t, list, "*.*", "SAFETY.md S2")
		assert.NotContains(t, list, "[*]")
		c.types(t, "! kubectl auth can-i list secrets --all-namespaces"+as)
	}
}

// plainText: a value is in Databag and files only, never in what makes pods
// (SAFETY.md D4).
func plainText(t *testing.T, c terminal) {
	made := c.types(t, "kubectl -n k8s-tengu-test get pods,deployments,replicasets -o json")
	require.Contains(t, made, "fileKeyRef")
	for _, value := range []string{"idlab-iot.tengu.io", "db.tengu.io", "cache.tengu.io"} {
		assert.NotContains(t, made, value)
	}
}

// invalid are requests that are none.
func invalid() map[string]string {
	return map[string]string{
		"empty":      "",
		"no JSON":    "\x00\xff{{{",
		"cut":        `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","obj`,
		"no request": `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
		"null":       `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null}`,
		"v1beta1":    `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"1"}}`,
		"no pod":     `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"CREATE","resource":{"version":"v1","resource":"pods"},"object":[{"spec":7}]}}`,
		"no list":    `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"CREATE","resource":{"version":"v1","resource":"pods"},"object":{"metadata":{"annotations":{"tengu.io/consumes":"db"}},"spec":{"containers":{"name":3}}}}}`,
		"deep":       strings.Repeat("[", 1<<20),
		"too long":   `{"kind":"` + strings.Repeat("x", 7<<20) + `"}`,
	}
}

// stopped: each replica answers each of them, and goes on (INJECTION.md I13).
func stopped(t *testing.T, c terminal) {
	w := c.world(t, "default")
	before := w.replicas(webhookName)
	require.Len(t, before, 2)
	for label, body := range invalid() {
		for _, pod := range before {
			for _, path := range []string{"mutate", "declare"} {
				status := w.posts(pod.Name, path, body)
				assert.Less(t, status, http.StatusInternalServerError, "%s: %s", path, label)
			}
		}
	}
	after := w.replicas(webhookName)
	require.Len(t, after, 2)
	for i := range after {
		assert.Equal(t, before[i].UID, after[i].UID)
		assert.Zero(t, after[i].Status.ContainerStatuses[0].RestartCount)
	}
	next := c.world(t, exampleNamespace)
	next.apply(workload{kind: "Pod", name: "next", annotations: `tengu.io/consumes: db, tengu.io/relations: db-endpoint`}.yaml())
	assertInjected(t, next.running("next", 1)[0])
}

// replicas returns the pods of one of Orcon's Deployments that are not being
// deleted.
func (w *world) replicas(name string) []corev1.Pod {
	w.t.Helper()
	list, err := w.client.CoreV1().Pods(w.namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name})
	require.NoError(w.t, err)
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// posts sends a body to one replica by way of the API server, and returns the
// status of the answer.
func (w *world) posts(pod, path, body string) int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var status int
	result := w.client.CoreV1().RESTClient().Post().Namespace(w.namespace).Resource("pods").Name("https:"+pod+":10250").
		SubResource("proxy").Suffix(path).SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(ctx)
	result.StatusCode(&status)
	if answer, err := result.Raw(); err == nil {
		assert.True(w.t, json.Valid(answer), "an answer is an AdmissionReview")
	}
	return status
}
