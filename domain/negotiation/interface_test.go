package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A relation whose ends both declare another interface is held as one whose provider alone does: data of one
// interface is not valid for another. It goes on when the interface is back, or a relation by the new interface replaces it
// (RELATIONS.md M1, SAFETY.md L5).
func TestBothEndsDeclareAnotherInterface(t *testing.T) {
	w, was := shopWorld(t)
	declare := func(iface string) {
		w.external("db", "main:"+iface)
		w.consumes("web", "store:"+iface, "db", "tengu.io/retain", "1h")
	}
	declare("mysql")
	w.settle(t)
	assert.True(t, w.only(t).Held())
	held, _ := condition.Find(w.only(t).State.Conditions, condition.Held)
	assert.Contains(t, held.Message, "the relation has interface pg, and both ends have mysql now: declare it with pg again, or it ends at")
	assert.Equal(t, relation.ReasonDeclarationGone, ready(w.only(t)).Reason)

	declare("pg")
	w.settle(t)
	assert.Equal(t, was.State, w.only(t).State)
	declare("mysql")
	w.settle(t)
	w.later(t, time.Hour)
	w.later(t, relationTeardown)
	assert.Equal(t, "mysql", w.only(t).Interface)
	assert.NotEqual(t, was.UID, w.only(t).UID)
}
