package secrets

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// The content of a secret goes when its object is deleted, and only then: not with the definition of its kind,
// and not when the object is merely missing (TRUST.md T1, T5).
func TestDeletion(t *testing.T) {
	made := metav1.NewTime(kubetest.Epoch())
	definition := func(created, deleted *metav1.Time) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: "relatedsecrets.orcon.tengu.io", CreationTimestamp: *created, DeletionTimestamp: deleted,
		}}
	}
	later := metav1.NewTime(made.Add(time.Second))
	tests := map[string]struct {
		why        string
		definition *metav1.PartialObjectMetadata
		missing    bool
		kept       bool
	}{
		"Deleted":           {why: "somebody deleted it", definition: definition(&made, nil)},
		"Missing":           {why: "a watch began anew without it", definition: definition(&made, nil), missing: true, kept: true},
		"DefinitionDeleted": {why: "it goes with its definition", definition: definition(&made, &later), kept: true},
		"DefinitionGone":    {why: "its definition has gone", kept: true},
		"DefinitionAnew":    {why: "it went with an earlier definition", definition: definition(&later, nil), kept: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, _, v := grantedVault(t)
			if test.definition != nil {
				server.Kept.Put(test.definition)
			}
			var s v1alpha1.RelatedSecret
			require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: secretID}, &s))
			s.CreationTimestamp = made
			require.NoError(t, server.Delete(t.Context(), &s, object.Unchanged(&s)))
			var event any = &s
			if test.missing {
				event = toolscache.DeletedFinalStateUnknown{Obj: &s}
			}
			v.deletions(t.Context()).OnDelete(event)
			assert.Equal(t, []string{"hunter2"}, contentOf(t, server), "for a day it stays in any case")
			sweepLate(t, v)
			assert.Equal(t, test.kept, len(contentOf(t, server)) == 1, test.why)
		})
	}
}

// A secret that comes back within a day keeps its content.
func TestDeletedAndRestored(t *testing.T) {
	server, secrets, v := grantedVault(t)
	server.Kept.Put(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "relatedsecrets.orcon.tengu.io"}})
	var s v1alpha1.RelatedSecret
	require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: secretID}, &s))
	require.NoError(t, server.Delete(t.Context(), s.DeepCopy(), object.Unchanged(&s)))
	v.deletions(t.Context()).OnDelete(s.DeepCopy())
	require.NoError(t, server.Create(t.Context(), &s))
	sweepLate(t, v)
	snapshot, err := v.Observe(t.Context(), "shop")
	require.NoError(t, err)
	assert.Empty(t, snapshot.Marks)
	reading, err := secrets.Secret(t.Context(), asks("0", "db"), secretID, secret.Query{})
	require.NoError(t, err)
	assert.Equal(t, "hunter2", string(reading.Content["password"]))
}
