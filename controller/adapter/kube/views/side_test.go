package views

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A side decides what its application sees of a relation: nothing before handlers are known to it, its own id, an end
// once the side owes it, and that also without the Relation (TRUST.md T0, T2, T3).
func TestViewOfSides(t *testing.T) {
	r := kubetest.Related("shop", "blog", "shop", "db")
	r.State.Identity = "one"
	d, err := convert.ToRelation(r)
	require.NoError(t, err)
	kept := relation.Side{Key: d.Key, Role: application.Provider, Relation: "one", ID: 9, Interface: "db", Known: true}
	owed := kept
	unit := conversation.Unit{Application: "db", Number: 1}
	owed.Teardown = &relation.Teardown{Since: kubetest.Epoch(), Reason: "Deleted", Others: []int{3}, Debt: conversation.Debt{Owed: []conversation.Unit{unit}}}
	paid := kept
	paid.Teardown = &relation.Teardown{Since: kubetest.Epoch(), Reason: "Deleted", Debt: conversation.Debt{Handled: true}}
	another := kept
	another.Relation = "another"
	ended := r.DeepCopy()
	ended.Status.EndReason = "Deleted"

	tests := map[string]struct {
		why      string
		relation *v1alpha1.Relation
		side     relation.Side
		plain    bool
		life     conversation.Life
		id       int
		owed     []int
	}{
		"NoSide":      {why: "a unit with handlers would hear of what nothing keeps", relation: r},
		"Plain":       {why: "no handler hears of it", relation: r, plain: true, life: conversation.Alive, id: 7},
		"Another":     {why: "the side is of an earlier relation", relation: r, side: another},
		"Kept":        {why: "under the side's id", relation: r, side: kept, life: conversation.Alive, id: 9},
		"EndsSoon":    {why: "the side takes note of the end first", relation: ended, side: kept, life: conversation.Alive, id: 9},
		"Owed":        {why: "the side owes the end", relation: ended, side: owed, life: conversation.Ending, id: 9, owed: []int{1}},
		"OwedAlone":   {why: "the Relation is gone", side: owed, life: conversation.Ending, id: 9, owed: []int{1}},
		"Paid":        {why: "nothing is owed any more", side: paid},
		"Lost":        {why: "the Relation is missing, and no end is known", side: kept},
		"EndsUnknown": {why: "no handler ever knew it", relation: ended, plain: true, life: conversation.Ending, id: 7},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := kubetest.Memory{}
			app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
			app.State.Units = []v1alpha1.Unit{{Number: 1, PodUID: "d1", Address: "10.0.0.1", Handlers: v1alpha1.HandlersPresent}}
			if test.plain {
				app.State.Units[0].Handlers = ""
			}
			m.Put(app)
			if test.relation != nil {
				m.Put(test.relation)
			}
			if test.side.Relation != "" {
				m.Put(convert.ForRelationSide(test.side))
			}
			view, err := (&Views{Reader: m}).View(t.Context(), "shop", "db")
			require.NoError(t, err)
			if test.life == "" {
				assert.Empty(t, view.Relations, test.why)
				return
			}
			require.Len(t, view.Relations, 1, test.why)
			shown := view.Relations[0].Shown
			assert.Equal(t, test.life, shown.Life, test.why)
			assert.Equal(t, test.id, shown.ID, test.why)
			assert.Equal(t, test.owed, shown.End.Owed, test.why)
			if len(test.owed) > 0 {
				left := conversation.Tombstone{Unit: conversation.Unit{Application: "blog", Number: 3}, Reason: conversation.RelationRemoved, Since: kubetest.Epoch()}
				assert.Equal(t, []conversation.Tombstone{left}, shown.Departed, "the units that handlers may know depart")
			}
			assert.Equal(t, "one", shown.UID)
			assert.Equal(t, "blog", shown.Remote)
		})
	}
}

// A side that cannot be read is unknown: the application keeps what it has.
func TestViewOfAnUnreadableSide(t *testing.T) {
	m := kubetest.Memory{}
	side := object.Named(&v1alpha1.RelationSide{}, "shop", "spoilt")
	side.Spec.Provider.Application, side.Spec.Role = "db", v1alpha1.RoleProvider
	m.Put(side)
	_, err := (&Views{Reader: m}).View(t.Context(), "shop", "db")
	require.ErrorIs(t, err, relation.ErrUnreadable)
}
