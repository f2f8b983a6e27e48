package settle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// A bare Pod is the object of its application and its only unit: it has one Event about what it waits for, and
// one about a failing handler, which Report writes. A pod of the same name that replaces it has them too.
func TestABarePodHasEachEventOnce(t *testing.T) {
	server := kubetest.Shop()
	pod := object.Named(&corev1.Pod{}, "shop", "worker")
	pod.UID = "pod-1"
	server.Keep(pod)
	recorder := events.NewFakeRecorder(8)
	writes := eventWriter{server, recorder}
	waiting := metav1.Condition{Type: "Ready", Status: "False", Reason: "WaitingForRelations", Message: "waits for db"}
	failing := metav1.Condition{Type: "HandlerFailed", Status: "True", Reason: "HandlerFailed", Message: "worker/0 fails"}
	app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "worker")
	app.Status = v1alpha1.RelatedApplicationStatus{
		Sources: []string{"Pod/worker"}, Conditions: []metav1.Condition{waiting},
	}
	app.State.Units = []v1alpha1.Unit{{Pod: "worker", PodUID: "pod-1"}}

	writes.application(t.Context(), app, &v1alpha1.RelatedApplication{})
	assert.Equal(t, []string{"Warning WaitingForRelations waits for db"}, kubetest.Recorded(recorder))

	before := app.DeepCopy()
	app.Status.Conditions = append(app.Status.Conditions, failing)
	writes.application(t.Context(), app, before)
	assert.Empty(t, kubetest.Recorded(recorder))

	before = app.DeepCopy()
	app.State.Units = []v1alpha1.Unit{{Pod: "worker", PodUID: "pod-2"}}
	writes.application(t.Context(), app, before)
	assert.Equal(t, []string{"Warning WaitingForRelations waits for db"}, kubetest.Recorded(recorder), "made again")
}

// A new pod with an agent has no Event about an old one that has none.
func TestANewPodHasNoEventOfAnother(t *testing.T) {
	server := kubetest.Shop()
	recorder := events.NewFakeRecorder(8)
	writes := eventWriter{server, recorder}
	app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "worker")
	app.Status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: "False", Reason: "NotInjected", Message: "every required relation is complete, but see condition NotInjected"},
		{Type: "NotInjected", Status: "True", Reason: "NoAgent", Message: "pod old has no agent"},
	}
	before := app.DeepCopy()
	app.State.Units = []v1alpha1.Unit{{Pod: "new", PodUID: "pod-1"}}
	writes.application(t.Context(), app, before)
	assert.Empty(t, kubetest.Recorded(recorder))
}
