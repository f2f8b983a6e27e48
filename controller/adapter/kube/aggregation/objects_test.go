package aggregation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/aggregation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
)

// deciding is a client whose API server answers reviews.
func deciding(t *testing.T, answer func(*authorizationv1.SubjectAccessReview) error) client.Client {
	scheme := runtime.NewScheme()
	require.NoError(t, authorizationv1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			review, ok := o.(*authorizationv1.SubjectAccessReview)
			require.True(t, ok)
			return answer(review)
		},
	}).Build()
}

func TestPermit(t *testing.T) {
	p := people.Person{Name: "ann", UID: "7", Groups: []string{"admins"}, Extra: map[string][]string{"scopes": {"a"}}}
	a := people.Access{Verb: "create", Resource: "jobworkspaces", Subresource: "decision", Namespace: "ns", Name: "web"}
	asked := authorizationv1.SubjectAccessReviewSpec{}
	allow := aggregation.Rights{Client: deciding(t, func(r *authorizationv1.SubjectAccessReview) error {
		asked = r.Spec
		r.Status.Allowed = true
		return nil
	})}
	require.NoError(t, allow.Permit(t.Context(), p, a))
	assert.Equal(t, authorizationv1.SubjectAccessReviewSpec{
		User: "ann", UID: "7", Groups: []string{"admins"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"a"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "ns", Name: "web", Verb: "create", Group: "jobs.orcon.tengu.io", Version: "v1alpha1", Resource: "jobworkspaces",
			Subresource: "decision",
		},
	}, asked)
	err := aggregation.Rights{Client: deciding(t, func(*authorizationv1.SubjectAccessReview) error { return nil })}.Permit(t.Context(), p, a)
	require.ErrorIs(t, err, people.ErrForbidden)
	assert.ErrorContains(t, err, "ann may not create jobworkspaces/decision of API group jobs.orcon.tengu.io in namespace ns")
	err = aggregation.Rights{Client: deciding(t, func(*authorizationv1.SubjectAccessReview) error { return errors.New("no answer") })}.Permit(t.Context(), p, a)
	require.ErrorContains(t, err, "no answer")
	assert.NotErrorIs(t, err, people.ErrForbidden, "an API server that does not answer forbids nothing")
}

func TestObjects(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	created := func(name string, age time.Duration) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age))}
	}
	web := &v1alpha1.JobWorkspace{ObjectMeta: created("web", time.Hour)}
	web.UID = "w"
	tofu := &v1alpha1.JobTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "tofu", UID: "t"}}
	run := func(name, workspace string, age time.Duration, end *v1alpha1.JobRunEnd) *v1alpha1.JobRun {
		r := &v1alpha1.JobRun{ObjectMeta: created(name, age), Spec: v1alpha1.JobRunSpec{Workspace: workspace}}
		r.Status.Attempt, r.Status.Fence = 2, 7
		if end != nil {
			r.State = &v1alpha1.JobRunState{End: end}
		}
		return r
	}
	o := aggregation.Objects{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		web, tofu, run("goes-on", "web", time.Minute, nil), run("over", "web", time.Minute, &v1alpha1.JobRunEnd{Attempt: 3, Fence: 8}),
		run("older", "web", 2*time.Hour, nil), run("lone", "gone", time.Minute, nil),
	).Build()}
	uid, err := o.Workspace(t.Context(), "ns", "web")
	require.NoError(t, err)
	assert.Equal(t, "w", uid)
	uid, err = o.Template(t.Context(), "ns", "tofu")
	require.NoError(t, err)
	assert.Equal(t, "t", uid)
	_, err = o.Template(t.Context(), "ns", "gone")
	require.ErrorIs(t, err, people.ErrNotFound)
	_, err = o.Workspace(t.Context(), "ns", "gone")
	require.ErrorIs(t, err, people.ErrNotFound)
	tests := map[string]struct {
		why  string
		want people.Run
		says string
	}{
		"goes-on": {"by its status", people.Run{Workspace: "w", Attempt: 2, Fence: 7}, ""},
		"over":    {"by its end, which is final", people.Run{Workspace: "w", Attempt: 3, Fence: 8, Ended: true}, ""},
		"older":   {"the log of another run must not be shown", people.Run{}, "another one has its name"},
		"lone":    {"its JobWorkspace is gone", people.Run{}, "cannot find JobWorkspace ns/gone"},
		"none":    {"no such run", people.Run{}, "cannot find JobRun ns/none"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := o.Run(t.Context(), "ns", name)
			assert.Equal(t, tc.want, got, tc.why)
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, people.ErrNotFound)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

func TestJournal(t *testing.T) {
	recorder := events.NewFakeRecorder(2)
	j := aggregation.Journal{Events: recorder}
	j.Record(t.Context(), people.Deed{
		Person: people.Person{Name: "ann"}, Namespace: "ns", Name: "web", UID: "w", Kind: people.StateDecided,
		What: "decided retry for fence 7", Because: "node n3 burnt", At: now,
	})
	assert.Equal(t, "Normal StateDecided ann decided retry for fence 7, because: node n3 burnt at 2026-11-27T03:00:00Z", <-recorder.Events)
	j.Record(t.Context(), people.Deed{Person: people.Person{Name: "ann"}, Kind: people.StateRead, What: "read the state x", At: now})
	assert.Equal(t, "Normal StateRead ann read the state x at 2026-11-27T03:00:00Z", <-recorder.Events)
}
