package object_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// What is read of a user's Secret decides on a grant; a Secret that is missing or closed is an answer, and an
// API server that is out of reach is none (SAFETY.md S1, E13).
func TestSecretSource(t *testing.T) {
	down := apierrors.NewServiceUnavailable("a moment")
	tests := map[string]struct {
		why    string
		absent bool
		err    error
		want   secret.Source
		fails  error
	}{
		"Open":    {why: "with its consent", want: secret.Source{Sight: secret.Open, Type: "Opaque", GrantTo: "db", Version: "7"}},
		"Missing": {why: "it may be created", absent: true, want: secret.Source{Sight: secret.Missing}},
		"Closed": {
			why: "the roles of the namespace do not allow it", want: secret.Source{Sight: secret.Closed},
			err: apierrors.NewForbidden(corev1.Resource("secrets"), "admin", errors.New("closed")),
		},
		"Down": {why: "nothing is known", err: down, fails: down},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live := &kubetest.Door{Memory: kubetest.Memory{}, Err: test.err}
			if !test.absent {
				live.Put(kubetest.Consenting("7"))
			}
			source, content, err := object.SecretSource(t.Context(), live, "shop", "admin")
			if test.fails != nil {
				require.ErrorIs(t, err, test.fails, test.why)
				return
			}
			require.NoError(t, err)
			test.want.Namespace, test.want.Name = "shop", "admin"
			assert.Equal(t, test.want, source, test.why)
			assert.Equal(t, test.want.Sight == secret.Open, string(content["password"]) == "hunter2")
		})
	}
}

func TestSecretsOf(t *testing.T) {
	m := kubetest.Memory{}
	m.Put(object.Named(&v1alpha1.RelatedSecret{}, "shop", "b"), object.Named(&v1alpha1.RelatedSecret{}, "shop", "a"),
		object.Named(&v1alpha1.RelatedSecret{}, "office", "c"))
	all, err := object.SecretsOf(t.Context(), m, "shop")
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, "a", all[0].ID)
	down := errors.New("the API server is out of reach")
	_, err = object.SecretsOf(t.Context(), kubetest.Silent{Failed: down}, "shop")
	require.ErrorIs(t, err, down)
}
