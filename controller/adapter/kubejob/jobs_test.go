package kubejob

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// bench is an executor over an API server in memory.
type bench struct {
	*Jobs

	api    client.Client
	writes int
	// fault is the error of a write that is done all the same, refused that of a deletion that is not.
	fault, refused error
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	b := &bench{}
	fails := func() error { b.writes++; return b.fault }
	b.api = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string {
			return []string{string(o.(*corev1.Event).InvolvedObject.UID)}
		}).
		WithIndex(&corev1.Event{}, "reason", func(o client.Object) []string { return []string{o.(*corev1.Event).Reason} }).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				o.SetUID("job-uid")
				if fault := fails(); fault != nil {
					return errors.Join(fault, c.Create(ctx, o, opts...))
				}
				return c.Create(ctx, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if b.refused != nil {
					return b.refused
				}
				return errors.Join(fails(), c.Delete(ctx, o, opts...))
			},
		}).Build()
	b.Jobs = &Jobs{Reader: b.api, Writer: b.api, Trust: func() []byte { return []byte("CERTIFICATES") }}
	return b
}

// owner returns the JobRun of the attempt, with a queue of Kueue.
func owner(queue string) *v1alpha1.JobRun {
	a := attempt()
	return &v1alpha1.JobRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.Namespace, Name: a.Run, UID: "5f7c", Labels: map[string]string{labelQueue: queue},
	}}
}

// JOBS.md J8 and J10: each call may be repeated, and makes one Job, which belongs to the JobRun.
func TestStartAndRemove(t *testing.T) {
	b := newBench(t, owner("batch"))
	for range 2 {
		require.NoError(t, b.Start(t.Context(), attempt()))
	}
	assert.Equal(t, 1, b.writes)
	var job batchv1.Job
	key := client.ObjectKey{Namespace: "shop", Name: "network-7-2"}
	require.NoError(t, b.api.Get(t.Context(), key, &job))
	assert.Equal(t, "batch", job.Labels[labelQueue], "Kueue's label is passed through")
	assert.Equal(t, "5f7c", string(metav1.GetControllerOf(&job).UID))
	assert.Equal(t, "CERTIFICATES", job.Spec.Template.Annotations[annotationTrust])
	s, err := b.Look(t.Context(), attempt().Name)
	require.NoError(t, err)
	assert.Equal(t, executor.Sight{Pod: run.Pod{Made: true, Progress: noPod}}, s)

	for range 2 {
		require.NoError(t, b.Remove(t.Context(), attempt().Name))
	}
	assert.Equal(t, 2, b.writes)
	s, err = b.Look(t.Context(), attempt().Name)
	require.NoError(t, err)
	assert.Equal(t, executor.Sight{}, s)
}

// A start that cannot be right makes nothing, and says why.
func TestStartRefuses(t *testing.T) {
	foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "network-7-2"}}
	replaced := owner("")
	replaced.UID = "another"
	for label, c := range map[string]struct {
		objects []client.Object
		trust   string
		says    string
	}{
		"NoTrust":   {objects: []client.Object{owner("")}, says: "not published yet"},
		"NoRun":     {trust: "x", says: "not found"},
		"Replaced":  {objects: []client.Object{replaced}, trust: "x", says: "another one has its name"},
		"NameTaken": {objects: []client.Object{owner(""), foreign}, trust: "x", says: "its Job network-7-2 belongs to something else: delete that"},
	} {
		t.Run(label, func(t *testing.T) {
			b := newBench(t, c.objects...)
			b.Trust = func() []byte { return []byte(c.trust) }
			err := b.Start(t.Context(), attempt())
			require.ErrorContains(t, err, "cannot")
			require.ErrorContains(t, err, "attempt 2 of Run shop/network-7")
			require.ErrorContains(t, err, c.says)
			assert.Zero(t, b.writes)
		})
	}
}

// A write whose answer is lost is repeated.
func TestLostAnswers(t *testing.T) {
	b := newBench(t, owner(""))
	b.fault = errors.New("lost")
	require.ErrorIs(t, b.Start(t.Context(), attempt()), b.fault)
	require.NoError(t, b.Start(t.Context(), attempt()))
	require.ErrorIs(t, b.Remove(t.Context(), attempt().Name), b.fault)
	require.NoError(t, b.Remove(t.Context(), attempt().Name))
	assert.Equal(t, 2, b.writes)
}

// A pod of a run gets the certificates that are trusted now, and no other pod does.
func TestRefresh(t *testing.T) {
	labels := map[string]string{v1alpha1.LabelRunUID: "5f7c"}
	trusting := func(name, trust string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Labels: labels, Annotations: map[string]string{annotationTrust: trust, "a": "b"},
		}}
	}
	foreign, bare := trusting("foreign", "old"), trusting("bare", "")
	foreign.Labels, bare.Annotations = nil, nil
	b := newBench(t, trusting("old", "old"), trusting("new", "CERTIFICATES"), foreign, bare)
	read := func() map[string]map[string]string {
		var pods corev1.PodList
		require.NoError(t, b.api.List(t.Context(), &pods))
		all := map[string]map[string]string{}
		for _, p := range pods.Items {
			all[p.Name] = p.Annotations
		}
		return all
	}
	before := read()
	certificates := b.Trust
	b.Trust = func() []byte { return nil }
	require.NoError(t, b.Refresh(t.Context()))
	assert.Equal(t, before, read(), "what is not known replaces nothing")
	b.Trust = certificates
	require.NoError(t, b.Refresh(t.Context()))
	before["old"] = map[string]string{annotationTrust: "CERTIFICATES", "a": "b"}
	assert.Equal(t, before, read())
}

// A Job whose pod the API server refuses shows why.
func TestLookShowsRefusedPods(t *testing.T) {
	b := newBench(t, owner(""))
	require.NoError(t, b.Start(t.Context(), attempt()))
	for name, one := range map[string]struct{ uid, message string }{
		"a": {"job-uid", "exceeded quota: pods"}, "b": {"other", "something else"},
	} {
		require.NoError(t, b.api.Create(t.Context(), &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "shop", Name: name},
			InvolvedObject: corev1.ObjectReference{UID: "job-uid"}, Reason: reasonFailedCreate, Message: one.message,
			LastTimestamp: metav1.NewTime(time.Unix(int64(len(one.uid)), 0)),
		}))
	}
	s, err := b.Look(t.Context(), attempt().Name)
	require.NoError(t, err)
	assert.Equal(t, executor.Sight{Pod: run.Pod{Made: true, Progress: noPod, Obstacle: "FailedCreate: exceeded quota: pods"}}, s)
}

// What cannot be read is no sight: the controller neither starts nor gives up anything by it.
func TestUnreadable(t *testing.T) {
	down := errors.New("down")
	for label, kind := range map[string]any{"Job": &batchv1.Job{}, "Run": &v1alpha1.JobRun{}, "Pods": &corev1.PodList{}, "Events": &corev1.EventList{}} {
		t.Run(label, func(t *testing.T) {
			b := newBench(t, owner(""))
			if label != "Job" && label != "Run" {
				require.NoError(t, b.Start(t.Context(), attempt()))
			}
			b.Reader = failing{b.api, kind, down}
			var err error
			if label == "Run" {
				err = b.Start(t.Context(), attempt())
			} else {
				_, err = b.Look(t.Context(), attempt().Name)
			}
			require.ErrorIs(t, err, down)
			require.ErrorContains(t, err, "attempt 2 of Run shop/network-7")
			if label == "Job" {
				require.ErrorIs(t, b.Start(t.Context(), attempt()), down)
				require.ErrorIs(t, b.Remove(t.Context(), attempt().Name), down)
			}
		})
	}
}

// failing is a reader that cannot read one kind.
type failing struct {
	client.Reader

	kind any
	err  error
}

// Get implements client.Reader.
func (f failing) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if reflect.TypeOf(into) == reflect.TypeOf(f.kind) {
		return f.err
	}
	return f.Reader.Get(ctx, key, into, opts...)
}

// List implements client.Reader.
func (f failing) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if reflect.TypeOf(into) == reflect.TypeOf(f.kind) {
		return f.err
	}
	return f.Reader.List(ctx, into, opts...)
}

// Another replica may have made the Job meanwhile, and it may be gone before it is deleted.
func TestMeanwhile(t *testing.T) {
	b := newBench(t, owner(""))
	require.NoError(t, b.Start(t.Context(), attempt()))
	here := b.Reader
	b.Reader = failing{here, &batchv1.Job{}, apierrors.NewNotFound(schema.GroupResource{Resource: "jobs"}, "network-7-2")}
	require.NoError(t, b.Start(t.Context(), attempt()))
	assert.Equal(t, 2, b.writes)
	b.Reader = here
	for _, refused := range []error{
		apierrors.NewNotFound(schema.GroupResource{Resource: "jobs"}, "network-7-2"),
		apierrors.NewConflict(schema.GroupResource{Resource: "jobs"}, "network-7-2", errors.New("another UID")),
	} {
		b.refused = refused
		require.NoError(t, b.Remove(t.Context(), attempt().Name))
	}
	b.refused = nil
	require.NoError(t, b.Remove(t.Context(), attempt().Name))
}
