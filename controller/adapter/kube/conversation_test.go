package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

func TestFindRelation(t *testing.T) {
	m := kubetest.Memory{}
	r := relationBetween("shop", "blog", "shop", "db")
	m.Put(r)
	for _, name := range []string{r.Name, "7"} {
		found, err := FindRelation(t.Context(), m, "shop", name)
		require.NoError(t, err)
		assert.Equal(t, r.Name, found.Name)
	}
	for _, name := range []string{"8", "blog", "7x"} {
		_, err := FindRelation(t.Context(), m, "shop", name)
		require.ErrorContains(t, err, "kubectl -n shop get relations", name)
	}
}

// Each end has its own bags of this relation and what it says to everybody; those of
// another namespace are called so (SAFETY.md M7).
func TestConversation(t *testing.T) {
	m := kubetest.Memory{}
	r := relationBetween("shop", "blog", "data", "db")
	r.UID = "r-1"
	said := func(namespace, app, uid, unit, value string) *v1alpha1.Databag {
		bag := relation.Databag{Application: app, Endpoint: "db", Relation: uid, Unit: unit}
		b := object.Named(&v1alpha1.Databag{}, namespace, bag.Name())
		b.Spec = convert.ForBag(bag)
		convert.SetData(b, conversation.Entry{Who: "w"}, map[string]string{"a": value}, nil, kubetest.Epoch())
		return b
	}
	m.Put(r, said("shop", "blog", "r-1", "", "1"), said("shop", "blog", "r-1", "2", "2"), said("shop", "blog", "r-2", "2", "other"),
		said("data", "db", "", "", "3"), said("data", "db", "r-1", "0", "4"), said("shop", "db", "r-1", "", "another's"))
	d, err := convert.ToRelation(r)
	require.NoError(t, err)
	got := map[conversation.Address]string{}
	for _, end := range []relation.End{d.Requirer, d.Provider} {
		all, err := Conversation(t.Context(), m, d, end)
		require.NoError(t, err)
		for _, s := range all {
			require.Len(t, s.Record.Entries, 1)
			assert.Equal(t, s.At, s.Record.Entries[0].Address)
			got[s.At] = s.Stored["a"]
		}
	}
	assert.Equal(t, map[conversation.Address]string{
		{Relation: "r-1", Owner: "blog"}: "1", {Relation: "r-1", Owner: "blog/2"}: "2",
		{Owner: "db.data"}: "3", {Relation: "r-1", Owner: "db.data/0"}: "4",
	}, got)
}
