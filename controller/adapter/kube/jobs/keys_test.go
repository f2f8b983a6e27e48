package jobs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/jobs"
)

// generate returns a text in place of a key.
func generate() (string, error) { return "new", nil }

// JOBS-DESIGN.md 9: the Secret is made at the first start, and never again, neither over one that is there nor in place of
// one that is lost.
func TestMakesKeysOnce(t *testing.T) {
	c := fake.NewFakeClient()
	k := jobs.Keys{Live: c, Writer: c, Namespace: "orcon-system"}
	_, err := k.Read(t.Context())
	require.ErrorContains(t, err, "Secret orcon-system/job-controller-keys is gone: restore it from a backup")
	require.NoError(t, k.Make(t.Context(), nil, generate))
	text, err := k.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	late := jobs.Keys{Live: fake.NewFakeClient(), Writer: c, Namespace: "orcon-system"}
	require.NoError(t, late.Make(t.Context(), nil, func() (string, error) { return "late", nil }), "another replica was first")
	text, err = k.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	require.NoError(t, k.Make(t.Context(), nil, func() (string, error) { return "other", nil }))
	text, err = k.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "orcon-system", Name: jobs.KeysName}}
	require.NoError(t, c.Delete(t.Context(), secret))
	require.ErrorContains(t, k.Make(t.Context(), []string{"age1x"}, generate), "states are encrypted to age1x: restore it")
	require.NoError(t, c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "orcon-system", Name: jobs.KeysName}}))
	_, err = k.Read(t.Context())
	require.ErrorContains(t, err, "has no keys.txt: put the file there that age-keygen writes")
}

// What cannot be read or made is an error; a Secret that another replica makes at the same time is none.
func TestKeysFail(t *testing.T) {
	down := errors.New("down")
	there := apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, jobs.KeysName, down)
	var read, made error
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if read != nil {
				return read
			}
			return c.Get(ctx, key, o, options...)
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return made
		},
	}).Build()
	k := jobs.Keys{Live: c, Writer: c, Namespace: "orcon-system"}
	made = down
	require.ErrorIs(t, k.Make(t.Context(), nil, generate), down)
	made = there
	require.NoError(t, k.Make(t.Context(), nil, generate))
	require.ErrorIs(t, k.Make(t.Context(), nil, func() (string, error) { return "", down }), down)
	read = down
	require.ErrorIs(t, k.Make(t.Context(), nil, generate), down)
	_, err := k.Read(t.Context())
	require.ErrorIs(t, err, down)
}
