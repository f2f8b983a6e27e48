package jobs

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// JOBS.md J14: a node has the values of the files that its run names, and no other one; what is missing is named, with the cure.
func TestSecrets(t *testing.T) {
	w := newWorld(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Data: map[string][]byte{"password": []byte("a"), "user": []byte("b"), "other": []byte("c")},
	})
	s := RunSecrets{Live: w}
	file := func(name, secret, key string) run.SecretFile {
		return run.SecretFile{Name: name, Secret: secret, Key: key}
	}
	got, err := s.Read(t.Context(), "shop", []run.SecretFile{file("p", "db", "password"), file("u", "db", "user")})
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"p": []byte("a"), "u": []byte("b")}, got)
	for says, f := range map[string]run.SecretFile{
		"cannot read Secret shop/db for file p of a run on a RunNode: it has no key none: add it": file("p", "db", "none"),
		`secrets "none" not found: create it, or correct spec.secrets of the JobWorkspace`:        file("p", "none", "password"),
	} {
		_, err = s.Read(t.Context(), "shop", []run.SecretFile{f})
		require.ErrorContains(t, err, says)
	}
	w.fault = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "db", errors.New("no"))
	_, err = s.Read(t.Context(), "shop", []run.SecretFile{file("p", "db", "password")})
	require.ErrorContains(t, err, "to ClusterRole orcon-job-secrets")
}
