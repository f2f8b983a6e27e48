package job

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// related returns a world whose Workspace names Service db and its endpoint main.
func related(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := newWorld(t)
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Outputs = &v1alpha1.JobOutputs{Service: "db", Endpoint: "main"} })
	for _, o := range objects {
		o.SetNamespace("shop")
		w.create(o)
	}
	return w
}

// ended has a Run of an action end with outputs; "" for none.
func (w *world) endedWith(name, action, outputs string, exit *v1alpha1.JobExit) {
	w.t.Helper()
	w.run(name, func(o *v1alpha1.JobRun) {
		o.Spec.Action = action
		o.State = &v1alpha1.JobRunState{Report: &v1alpha1.JobReport{Fence: 1}}
		if outputs != "" {
			o.State.Report.Outputs = &runtime.RawExtension{Raw: []byte(outputs)}
		}
	})
	w.change(func(o *v1alpha1.JobWorkspace) {
		if o.State == nil {
			o.State = &v1alpha1.JobWorkspaceState{}
		}
		o.State.Fence++
		holder := v1alpha1.JobHolder{Name: name, UID: string(w.get(name).UID)}
		o.State.LastEnd = &v1alpha1.JobEnd{Run: holder, Attempt: 1, Fence: o.State.Fence, Outcome: "Unchanged", Exit: exit}
	})
}

// annotated returns the annotations of an object.
func (w *world) annotated(o client.Object, name string) map[string]string {
	w.t.Helper()
	require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, o))
	return o.GetAnnotations()
}

// JOBS.md J19: a Service has the outputs of the last run that has succeeded and has some, until they are destroyed; sensitive
// ones are granted by reference.
func TestRelate(t *testing.T) {
	w := related(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "db", Annotations: map[string]string{"tengu.io/provides": "main:pg"}}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db-outputs"}})
	for _, step := range []struct {
		why, action, outputs, data, secret string
		exit                               *v1alpha1.JobExit
	}{
		{"the first", "deploy", `{"host": "a", "port": 5432}`, `{"host":"a","port":"5432"}`, "", nil},
		{"one that failed", "deploy", `{"host": "b"}`, `{"host":"a","port":"5432"}`, "", &v1alpha1.JobExit{Code: 1}},
		{"one without outputs", "check", "", `{"host":"a","port":"5432"}`, "", nil},
		{"a sensitive one", "deploy", `{"host": "c", "password": {"sensitive": true}}`, `{"host":"c"}`, "db-outputs", nil},
		{"what it described is gone", "destroy", "", "", "", nil},
	} {
		r := w.process()
		w.endedWith(fmt.Sprintf("%s-%d", step.action, w.born), step.action, step.outputs, step.exit)
		require.NoError(t, (relating{w.seen(r)}).relate(t.Context()))
		got := w.annotated(&corev1.Service{}, "db")
		assert.Equal(t, step.data, got["data.tengu.io/main"], step.why)
		assert.Equal(t, step.secret, got["secret.tengu.io/main"], step.why)
		assert.Equal(t, "main:pg", got["tengu.io/provides"], "what else it has stays")
	}
	assert.Equal(t, "db:main", w.annotated(&corev1.Secret{}, "db-outputs")["tengu.io/grant-to"])
}

// A Service that is not there holds nothing up, is named once, and is annotated once it is there.
func TestRelateLater(t *testing.T) {
	w := related(t)
	r := w.process()
	w.endedWith("first", "deploy", `{"host": "a"}`, nil)
	for range 2 {
		l := w.seen(r)
		require.NoError(t, relating{l}.relate(t.Context()))
		assert.Equal(t, time.Minute, l.again)
	}
	require.Len(t, w.events.Events, 1)
	assert.Contains(t, <-w.events.Events, "Warning OutputsNotRelated cannot annotate Service db: ")
	w.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}})
	made := w.made
	for range 2 {
		require.NoError(t, (relating{w.seen(r)}).relate(t.Context()))
	}
	assert.JSONEq(t, `{"host": "a"}`, w.annotated(&corev1.Service{}, "db")["data.tengu.io/main"])
	assert.LessOrEqual(t, w.made-made, 1, "what is written is not written again")

	require.NoError(t, w.client.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}))
	w.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}})
	for _, step := range []struct {
		after, again time.Duration
		data         string
	}{{4 * time.Minute, time.Minute, ""}, {time.Minute, 5 * time.Minute, `{"host":"a"}`}} {
		w.clock += step.after
		l := w.seen(r)
		require.NoError(t, (relating{l}).relate(t.Context()))
		assert.Equal(t, step.again, l.again)
		assert.Equal(t, step.data, w.annotated(&corev1.Service{}, "db")["data.tengu.io/main"], "it is made anew")
	}
}

// seen returns what the controller sees of the Workspace.
func (w *world) seen(r *Reconciler) *look {
	w.t.Helper()
	l, err := r.observe(w.t.Context(), client.ObjectKey{Namespace: "shop", Name: "db"})
	require.NoError(w.t, err)
	require.NoError(w.t, l.unreadable)
	return l
}
