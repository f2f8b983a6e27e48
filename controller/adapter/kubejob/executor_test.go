package kubejob

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	*Executor

	api    client.Client
	writes int
	fault  error
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
				return errors.Join(fails(), c.Create(ctx, o, opts...))
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				return errors.Join(fails(), c.Delete(ctx, o, opts...))
			},
		}).Build()
	b.Executor = &Executor{Reader: b.api, Writer: b.api, Trust: func() []byte { return []byte("CERTIFICATES") }}
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
	assert.Equal(t, executor.Sight{Pod: run.Pod{Made: true}}, s)

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
	assert.Equal(t, executor.Sight{Pod: run.Pod{Made: true, Obstacle: "FailedCreate: exceeded quota: pods"}}, s)
}
