package negotiation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A Relation that a person made may have the name that the declared relation of other ends needs: that one is not made, and
// its application says so, with the cure (SAFETY.md I22, C1).
func TestNameOfARelationIsTaken(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.external("db2", "main:pg")
	w.consumes("web", "store:pg", "")
	w.consumes("blog", "store:pg", "")
	key := relation.Key{Requirer: here("web", "store"), Provider: here("db", "main")}
	w.apply(key.Name(), here("blog", "store"), here("db2", "main"), "pg", 0)
	w.settle(t)
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	assert.Equal(t, "blog:store-db2:main", w.related())
	assert.Contains(t, w.told("web"), "Relation "+key.Name()+" of other ends has the name that the relation of web:store with db:main needs")
	assert.True(t, w.says("web", condition.Stalled).True)

	w.remove(key.Name(), w.relations[key.Name()].UID)
	w.settle(t)
	assert.True(t, w.says("web", condition.Ready).True)
}

// The same holds for a Relation that is refused.
func TestNameIsTakenByARefusedRelation(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	key := relation.Key{Requirer: here("web", "store"), Provider: here("db", "main")}
	w.apply(key.Name(), here("blog", "store"), here("nobody", "main"), "pg", 0)
	w.settle(t)
	assert.Empty(t, w.relations[key.Name()].State.ID)
	assert.Contains(t, w.told("web"), "has the name that the relation of web:store with db:main needs")
}
