package jobs

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// world is an API server in memory that reviews tokens.
type world struct {
	client.Client

	// reviews are the answers to tokens; reviewed counts them.
	reviews  map[string]authenticationv1.TokenReviewStatus
	reviewed int
	// fault is the error of reads and reviews after a number of good ones, refused that of writes, which are not done then.
	fault, refused error
	good           int
	// permitted names the RunNodes for which the controller may mint tokens for runs of namespace shop.
	permitted []string
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	w := &world{reviews: map[string]authenticationv1.TokenReviewStatus{}}
	uid := func(o client.Object) []string { return []string{string(o.GetUID())} }
	w.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&v1alpha1.JobWorkspace{}, indexUID, uid).WithIndex(&v1alpha1.JobRun{}, indexUID, uidOf).
		WithInterceptorFuncs(interceptor.Funcs{Create: w.create, Get: w.get, Patch: w.patch, Delete: w.delete}).Build()
	return w
}

// fails returns the error of a read or review.
func (w *world) fails() error {
	if w.fault == nil {
		return nil
	}
	w.good--
	if w.good >= 0 {
		return nil
	}
	return w.fault
}

func (w *world) create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	if review, is := o.(*authenticationv1.TokenReview); is {
		w.reviewed++
		if err := w.fails(); err != nil {
			return err
		}
		review.Status = w.reviews[review.Spec.Token]
		return nil
	}
	if review, is := o.(*authorizationv1.SelfSubjectAccessReview); is {
		a := review.Spec.ResourceAttributes
		minting := []string{"shop", "create", people.Group, "runnodes", "token"}
		review.Status.Allowed = slices.Equal(minting, []string{a.Namespace, a.Verb, a.Group, a.Resource, a.Subresource}) &&
			slices.Contains(w.permitted, a.Name)
		return w.fails()
	}
	return c.Create(ctx, o, opts...)
}

func (w *world) patch(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if w.refused != nil {
		return w.refused
	}
	return c.Patch(ctx, o, p, opts...)
}

func (w *world) delete(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
	if w.refused != nil {
		return w.refused
	}
	return c.Delete(ctx, o, opts...)
}

func (w *world) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := w.fails(); err != nil {
		return err
	}
	return c.Get(ctx, key, o, opts...)
}

// objects returns what the ports read of the world.
func (w *world) objects() Objects { return Objects{Cache: w, Live: w} }

// identify sends a request with a header.
func identify(t *testing.T, c *Callers, authorization string) (serve.Caller, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Header.Set("Authorization", authorization)
	return c.Identify(r)
}

// good returns the review of a token of the pod of shop.
func good(pod string) authenticationv1.TokenReviewStatus {
	return authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{v1alpha1.Audience},
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:shop:default", Extra: map[string]authenticationv1.ExtraValue{
			"authentication.kubernetes.io/pod-name": {pod}, "authentication.kubernetes.io/pod-uid": {"p-uid"},
		}},
	}
}

// shop returns a JobTemplate, a JobWorkspace, a JobRun with its input, and its pod.
func shop(t *testing.T) (*v1alpha1.JobTemplate, *v1alpha1.JobWorkspace, *v1alpha1.JobRun, *corev1.Pod) {
	t.Helper()
	template := &v1alpha1.JobTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tofu"},
		Spec: v1alpha1.JobTemplateSpec{JobProgram: v1alpha1.JobProgram{
			Image: image, Contract: run.Contract, Safety: v1alpha1.SafetyIdempotent,
			Actions: []v1alpha1.JobAction{{Name: "deploy", Entrypoint: []string{"/deploy"}}},
		}},
	}
	w := &v1alpha1.JobWorkspace{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "network", UID: "w-uid"},
		Spec:       v1alpha1.JobWorkspaceSpec{Template: "tofu"},
	}
	r := &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "network-7", UID: "r-uid",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "orcon.tengu.io/v1alpha1", Kind: "JobWorkspace", Name: "network", UID: "w-uid"}},
		},
		Spec: v1alpha1.JobRunSpec{Workspace: "network", Action: "deploy"},
	}
	artifact := run.Artifact{Image: image, Content: "sha256:content"}
	input := run.Input{Action: "deploy", Artifact: artifact, Contract: run.Contract, Parameters: map[string]any{"size": "3"}}
	require.NoError(t, convert.SetInput(r, input))
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "network-7-1-abcde", UID: "p-uid",
			Labels: map[string]string{v1alpha1.LabelRun: "network-7", v1alpha1.LabelRunUID: "r-uid"},
		},
		Spec: corev1.PodSpec{NodeName: "node"},
	}
	return template, w, r, p
}

const image = "registry.example.org/tofu@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
