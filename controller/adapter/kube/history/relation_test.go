package history

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

func TestFindRelation(t *testing.T) {
	m := kubetest.Memory{}
	r := kubetest.Related("shop", "blog", "shop", "db")
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

// Each end has its own bags of this relation and the declared one; applications of another namespace are named
// so (SAFETY.md M7).
func TestBags(t *testing.T) {
	m := kubetest.Memory{}
	r := kubetest.Related("shop", "blog", "data", "db")
	r.UID = "r-1"
	said := func(namespace, app, uid, unit, value string) *v1alpha1.Databag {
		bag := relation.Databag{Application: app, Endpoint: "db", Relation: uid, Unit: unit}
		b := object.Named(&v1alpha1.Databag{}, namespace, bag.Name())
		b.Spec = convert.ForBag(bag)
		convert.SetData(b, domain.Entry{Who: "w"}, map[string]string{"a": value}, nil, kubetest.Epoch())
		return b
	}
	m.Put(r, said("shop", "blog", "r-1", "", "1"), said("shop", "blog", "r-1", "2", "2"), said("shop", "blog", "r-2", "2", "other"),
		said("data", "db", "", "", "3"), said("data", "db", "r-1", "0", "4"), said("shop", "db", "r-1", "", "another's"))
	d, err := convert.ToRelation(r)
	require.NoError(t, err)
	got := map[conversation.Address]string{}
	for _, end := range []relation.End{d.Requirer, d.Provider} {
		all, err := Bags(t.Context(), m, d, end)
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

// What cannot be read is an error, never a shorter history.
func TestHistoryFails(t *testing.T) {
	down := errors.New("the API server is out of reach")
	silent := kubetest.Silent{Failed: down}
	_, err := FindRelation(t.Context(), silent, "shop", "7")
	require.ErrorIs(t, err, down)

	r := kubetest.Related("shop", "blog", "shop", "db")
	r.UID = "r-1"
	d, err := convert.ToRelation(r)
	require.NoError(t, err)
	_, err = Bags(t.Context(), silent, d, d.Provider)
	require.ErrorIs(t, err, down)

	m := kubetest.Memory{}
	_, err = Bags(t.Context(), kubetest.Failing{Reader: m, Kind: reflect.TypeFor[*v1alpha1.Databag]()}, d, d.Provider)
	require.ErrorContains(t, err, "db in namespace shop", "the declared bag may hold more")
	all, err := Bags(t.Context(), m, d, d.Provider)
	require.NoError(t, err)
	assert.Empty(t, all, "nothing is written yet")
}

// A relation that cannot be read is named in the error.
func TestFindUnreadable(t *testing.T) {
	m := kubetest.Memory{}
	r := kubetest.Related("shop", "blog", "shop", "db")
	r.Status.Departures = []v1alpha1.Departure{{Unit: "no unit"}}
	m.Put(r)
	_, err := FindRelation(t.Context(), m, "shop", r.Name)
	require.ErrorContains(t, err, r.Name)
}
