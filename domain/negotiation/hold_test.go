package negotiation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A look that would end more than five relations and a fifth of the namespace's ends
// none of them until a person says so, or so many are declared again (SAFETY.md L6).
func TestManyEndsWaitForAPerson(t *testing.T) {
	tests := map[string]struct {
		why        string
		all, lost  int
		wantsEnded bool
	}{
		"Five":   {why: "five may", all: 5, lost: 5, wantsEnded: true},
		"Six":    {why: "six are more than five and a fifth", all: 6, lost: 6},
		"Fifth":  {why: "six are a fifth of thirty, and no more", all: 30, lost: 6, wantsEnded: true},
		"Almost": {why: "six are more than a fifth of twenty-nine", all: 29, lost: 6},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.external("db", "main:pg")
			for i := range test.all {
				w.consumes(fmt.Sprintf("web-%d", i), "store:pg", "db")
			}
			w.settle(t)
			for i := range test.lost { // by somebody's script, one after the other
				w.consumes(fmt.Sprintf("web-%d", i), "", "")
				w.later(t, time.Second)
			}
			for range 2 * test.lost {
				w.later(t, application.DefaultRetain/time.Duration(test.lost))
			}
			w.later(t, time.Minute)
			w.later(t, time.Minute)
			if test.wantsEnded {
				assert.Len(t, w.relations, test.all-test.lost, test.why)
				return
			}
			require.Len(t, w.relations, test.all, test.why)
			r := w.between(t, "web-0:store-db:main")
			held, _ := condition.Find(r.State.Conditions, condition.Held)
			assert.Equal(t, relation.ReasonConfirm, held.Reason)
			assert.Contains(t, held.Message, "kubectl -n shop delete relation "+r.Name)
			assert.True(t, ready(r).True, "it goes on as before")

			w.remove(r.Name, r.UID)
			w.later(t, time.Minute)
			w.later(t, time.Minute)
			assert.Len(t, w.relations, test.all-test.lost, "one was ended by a person: the other five are no more than may")
		})
	}
}

// Who declares something wrong over what works is told, although it goes on to work.
func TestHeldSaysWhatIsWrong(t *testing.T) {
	w, _ := shopWorld(t)
	w.consumes("web", "store:pg", "store=db:mian", application.KeyRetain, "1h")
	w.settle(t)
	assert.True(t, w.says("web", condition.Ready).True, "it has what it had")
	assert.Equal(t, string(condition.Held), w.says("web", condition.Ready).Reason, "the condition that tells more")
	is := w.says("web", condition.Held)
	until := epoch().Add(time.Hour).Format("2006-01-02T15")
	assert.Contains(t, is.Message, "the relation of store with db:main is held until "+until)
	assert.Contains(t, is.Message, "db has no endpoint mian")
	held, _ := condition.Find(w.only(t).State.Conditions, condition.Held)
	assert.Contains(t, held.Message, "it ends at "+until)
}

// Relations are held as long as there are any.
func TestUndeclared(t *testing.T) {
	w, _ := shopWorld(t)
	w.deployment("web", nil)
	w.settle(t)
	assert.Contains(t, w.told("web"), "the application declares nothing any more: its relations are held")
	w.later(t, time.Hour)
	assert.False(t, w.only(t).Alive())
	assert.Contains(t, w.told("web"), "the application declares nothing any more")
	assert.NotContains(t, w.told("web"), "held")
}

// A bare pod that has ended still has its annotations: declaring the relation again does not help.
func TestEndedPod(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	annotations := map[string]string{application.KeyConsumes: "store:pg", application.KeyRelations: "db"}
	w.pod(application.BarePod, "once", "once")
	w.change("once", func(p *application.Pod) { p.Annotations = annotations })
	w.settle(t)
	require.True(t, w.only(t).Alive())

	w.change("once", func(p *application.Pod) { p.Finished = true })
	w.settle(t)
	assert.Contains(t, w.told("once"), "pod once has ended, and nothing else declares the application: its relations are held")
	r := w.only(t)
	held, _ := condition.Find(r.State.Conditions, condition.Held)
	assert.Equal(t, "pod once has ended, and nothing else declares the relation: delete it and create it again, or it ends at "+
		epoch().Add(application.DefaultRetain).Format(time.RFC3339)+"; to end it now: kubectl -n shop delete relation "+r.Name, held.Message)

	w.deployment("once", annotations)
	w.settle(t)
	assert.NotContains(t, w.told("once"), "has ended", "another object of the name declares it now")
	assert.False(t, w.only(t).Held())
}
