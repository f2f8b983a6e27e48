package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// before holds pods that were made before Orcon was installed.
const (
	unlabelledBefore = "before-unlabelled"
	labelledBefore   = "before-labelled"
)

// beforeOrcon makes pods while there is no Orcon yet: what others shall be
// equal to, and what must be told that it is not injected.
func beforeOrcon(t *testing.T, c *controlplane.Cluster) {
	t.Helper()
	c.Kubectl(t, "create", "namespace", unlabelledBefore)
	c.Kubectl(t, "create", "namespace", labelledBefore)
	c.Kubectl(t, "label", "namespace", labelledBefore, "tengu-injector=enabled")
	w := &world{Cluster: c, t: t, namespace: unlabelledBefore, client: c.Client(t)}
	w.eventually(func() string {
		for _, namespace := range []string{unlabelledBefore, labelledBefore} {
			if _, err := w.client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
				return err.Error()
			}
		}
		return ""
	})
	w.apply(declaringPod() + "---" + plainPod())
	w.namespace = labelledBefore
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(workload{kind: "Deployment", name: "early", podAnnotations: consumesDB}.yaml())
	w.apply(sleeper("Deployment", "uncopied", consumesDB))
}

func declaringPod() string { return sleeper("Pod", "declaring", consumesDB) }

func plainPod() string { return sleeper("Pod", "plain", "") }

// A pod of a namespace that has not opted in is, byte for byte, what it would
// be without Orcon, whatever it declares; and so is one that declares nothing
// in a namespace that has (SAFETY.md I21, INJECTION.md I5).
func TestUntouched(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	other := w.inUnlabelled()
	other.apply(external("db-endpoint", "db", "db.tengu.io"))
	other.apply(declaringPod())
	w.apply(plainPod())

	declaring := other.running("declaring", 1)[0]
	assert.JSONEq(t, authored(t, other, unlabelledBefore, "declaring"), authored(t, other, other.namespace, "declaring"))
	assert.JSONEq(t, authored(t, w, unlabelledBefore, "plain"), authored(t, w, w.namespace, "plain"))
	text := authored(t, other, other.namespace, "declaring")
	for _, trace := range []string{"orcon-bindings", "orcon-run", "orcon-state", "orcon-identity", "relation-agent", "injector.tengu.io", "tengu.io/injected"} {
		assert.NotContains(t, text, trace)
	}
	assert.Empty(t, declaring.Spec.InitContainers)
}

// authored returns a pod without what the server sets, and without the random
// end of a volume's name.
func authored(t *testing.T, w *world, namespace, name string) string {
	t.Helper()
	pod, err := w.client.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	pod.Namespace, pod.UID, pod.ResourceVersion, pod.Generation = "", "", "", 0
	pod.CreationTimestamp, pod.ManagedFields, pod.Status = metav1.Time{}, nil, corev1.PodStatus{}
	const applied = "kubectl.kubernetes.io/last-applied-configuration"
	pod.Annotations[applied] = strings.ReplaceAll(pod.Annotations[applied], namespace, "NAMESPACE")
	text, err := json.Marshal(pod)
	require.NoError(t, err)
	return regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`).ReplaceAllString(string(text), "kube-api-access")
}

// What happens in a namespace that has not opted in is none of Orcon's
// business: edits of declaring Services write nothing there.
func TestUnlabelledNamespaceIsNotWritten(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	other := w.inUnlabelled()
	for _, in := range []*world{w, other} {
		in.apply(external("db-endpoint", "db", "db.tengu.io"))
		in.apply(sleeper("Deployment", "app", consumesDB))
	}
	pod := w.running("app", 1)[0]
	other.kubectl("patch", "service", "db-endpoint", "--type=merge", "-p", `{"spec":{"externalName":"db2.tengu.io"}}`)
	other.kubectl("annotate", "service", "db-endpoint", "data.tengu.io/db=user: me")
	// The same edit, later, where it counts: once it has arrived, the one before
	// would have had its effect.
	w.kubectl("patch", "service", "db-endpoint", "--type=merge", "-p", `{"spec":{"externalName":"db2.tengu.io"}}`)
	w.reads("db2.tengu.io", pod.Name, "/bindings/db/host")
	for _, list := range []client.ObjectList{&v1alpha1.RelationList{}, &v1alpha1.RelatedApplicationList{}, &v1alpha1.DatabagList{}} {
		require.NoError(t, other.objects.List(t.Context(), list, client.InNamespace(other.namespace)))
		text, err := json.Marshal(list)
		require.NoError(t, err)
		assert.Contains(t, string(text), `"items":[]`, "Orcon wrote into a namespace that has not opted in")
	}
	_, err := other.client.CoreV1().ConfigMaps(other.namespace).Get(t.Context(), "orcon-trust", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "nothing is copied there either: %v", err)
	var services corev1.ServiceList
	require.NoError(t, other.objects.List(t.Context(), &services, client.InNamespace(other.namespace)))
	for _, field := range services.Items[0].ManagedFields {
		assert.Contains(t, field.Manager, "kubectl", "nobody but the author wrote the Service")
	}
}

// A workload whose declaration was not copied to its pods is rolled out once that is known: it was there before Orcon, or
// before the Service that declares for it. Pods that must not start without an agent wait for that (TRUST.md A11).
func TestDeclaredLater(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	before := *w
	before.namespace = labelledBefore
	before.eventually(func() string { return agentless(before.running("uncopied", 1)) })

	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(sleeper("Deployment", "bare", ""))
	w.apply(workload{kind: "Deployment", name: "strict", podAnnotations: "injector.tengu.io/inject: required"}.yaml())
	require.NotEmpty(t, agentless(w.running("bare", 1)), "nothing is declared yet")
	w.contains("the pod would start without an agent: the pod has no annotation tengu.io/consumes", "get", "events", "-o", "jsonpath={.items[*].message}")
	for _, name := range []string{"bare", "strict"} {
		w.apply(fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %[1]s, annotations: {%[2]s}}, spec: {selector: {app: %[1]s}, ports: [{port: 80}]}}", name, consumesDB))
		w.eventually(func() string { return agentless(w.running(name, 1)) })
		pod := w.running(name, 1)[0]
		assert.Equal(t, "db.tengu.io", w.sh(pod.Name, "cat /bindings/db/host"))
	}
	w.contains("Restarted", "get", "events", "-o", "jsonpath={.items[*].reason}")
}

// agentless returns the first pod without an agent; empty if all have one.
func agentless(pods []corev1.Pod) string {
	for i := range pods {
		if len(pods[i].Spec.InitContainers) == 0 {
			return "pod " + pods[i].Name + " has no agent"
		}
	}
	return ""
}

// A pod that was there before Orcon is named, with the cure; and the cure works
// (INJECTION.md I1, SAFETY.md I22).
func TestNotInjected(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	before := *w
	before.namespace = labelledBefore
	pod := before.running("early", 1)[0]
	require.Empty(t, pod.Spec.InitContainers, "made before Orcon")
	const said = `jsonpath={.status.conditions[?(@.type=="NotInjected")].message}`
	before.contains("pod "+pod.Name+" has no agent", "get", "relatedapplication", "early", "-o", said)
	before.contains("kubectl rollout restart deployment/early", "get", "relatedapplication", "early", "-o", said)
	before.contains("NoAgent", "get", "events", "-o", "jsonpath={.items[*].reason}")

	before.kubectl("rollout", "restart", "deployment/early")
	before.gone(pod)
	pod = before.running("early", 1)[0]
	assertInjected(t, pod)
	assert.Equal(t, "db.tengu.io", before.sh(pod.Name, "cat /bindings/db/host; echo $DB | grep -q db.tengu.io"))
	before.prints("", "get", "relatedapplication", "early", "-o", said)
}
