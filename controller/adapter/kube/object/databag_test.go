package object_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// A bag is written by one request, in the revision that was read (SAFETY.md D11), and none of it in the status
// (TRUST.md T5). A status of when it could not be read goes with the next write.
func TestWriteBag(t *testing.T) {
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	stored := func() *v1alpha1.Databag {
		b := object.Named(&v1alpha1.Databag{}, "shop", "db-main")
		require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(b), b))
		return b
	}
	write := func(b *v1alpha1.Databag, host string) error {
		b.State.Data = map[string]string{"host": host}
		return object.WriteBag(t.Context(), server, b)
	}
	require.NoError(t, write(object.Named(&v1alpha1.Databag{}, "shop", "db-main"), "first"))
	assert.Equal(t, map[string]string{"host": "first"}, stored().State.Data)
	assert.Equal(t, 1, server.Writes)

	late := stored()
	require.NoError(t, write(stored(), "second"))
	assert.Equal(t, map[string]string{"host": "second"}, stored().State.Data)
	assert.Equal(t, 2, server.Writes)
	require.True(t, apierrors.IsConflict(write(late, "late")))
	require.True(t, apierrors.IsAlreadyExists(write(object.Named(&v1alpha1.Databag{}, "shop", "db-main"), "another")))
	assert.Equal(t, map[string]string{"host": "second"}, stored().State.Data)

	unreadable := stored()
	unreadable.Status.Conditions = []metav1.Condition{{Type: "Stalled", Status: metav1.ConditionTrue}}
	require.NoError(t, server.Status().Update(t.Context(), unreadable))
	late = stored()
	require.NoError(t, write(stored(), "third"))
	assert.Equal(t, map[string]string{"host": "third"}, stored().State.Data)
	assert.Empty(t, stored().Status)
	require.True(t, apierrors.IsConflict(write(late, "late")))
}
