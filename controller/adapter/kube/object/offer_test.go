package object_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// A relation is open under the Offers that are stored, for the namespaces that are there (TRUST.md T8).
func TestUnderOffers(t *testing.T) {
	r, err := convert.ToRelation(kubetest.Borrowed())
	require.NoError(t, err)
	offer := kubetest.OfferTo("office")
	offer.Spec.ConsumerNamespaces = []v1alpha1.NamespaceIdentity{{Name: "office", UID: string(kubetest.NamespaceUID("office"))}}
	m := kubetest.Memory{}
	opens := func() bool {
		under, newest, err := object.UnderOffers(t.Context(), m, r)
		require.NoError(t, err)
		assert.EqualValues(t, 5, newest)
		return under.Open()
	}
	m.Put(offer)
	assert.False(t, opens(), "the namespaces are not there")
	m.Put(kubetest.OptedIn("office"), kubetest.OptedIn("shop"))
	assert.True(t, opens())
	again := kubetest.OptedIn("office")
	again.UID = "another"
	m.Put(again)
	assert.False(t, opens())

	m.Put(kubetest.OptedIn("office"))
	assert.True(t, opens())
	deleted := offer.DeepCopy()
	deleted.DeletionTimestamp, deleted.Finalizers = &metav1.Time{Time: kubetest.Epoch()}, []string{"example.org/backup"}
	m.Put(deleted)
	assert.False(t, opens(), "RELATIONS.md M6: it is withdrawn, however long its deletion takes")

	_, _, err = object.UnderOffers(t.Context(), kubetest.Silent{Failed: errors.New("no connection")}, r)
	require.Error(t, err)
}
