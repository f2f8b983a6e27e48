package transaction

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// model is an application of two units whose transactions are stored by several processes at once. A
// process may be late, or die, after any request; a unit may give one up and begin the next transaction.
type model struct {
	*store

	processes []*process
	// leader is the unit that leads in a term.
	leader, term int
	number       int
}

// secretOf is the ID of the secret of a unit.
func secretOf(unit int) string { return fmt.Sprintf("secret0000000000000%d", unit) }

func newModel() *model {
	m := &model{store: newStore(), term: 1}
	for unit := range 2 {
		first := secret.Secret{
			ID: secretOf(unit), Owner: secret.Owner{Application: "db", Unit: strconv.Itoa(unit)}, Latest: 1,
			Revisions: []secret.Revision{{Number: 1, Place: secret.Place{Key: "first"}}},
		}
		m.revision++
		m.secrets[first.ID] = object[StoredSecret]{m.revision, StoredSecret{There: true, Secret: first}}
	}
	return m
}

// begin begins a transaction of a unit about some bags, each of which gets the transaction's own value.
// With the request for the transaction before ends its process, unless its commit point is past.
func (m *model) begin(t *rapid.T) {
	unit := rapid.IntRange(0, 1).Draw(t, "unit")
	m.processes = slices.DeleteFunc(m.processes, func(p *process) bool {
		return p.commit.Unit == unit && p.commit.ID != "" && !p.stored.posted
	})
	m.number++
	id := fmt.Sprintf("t%d", m.number)
	c := Commit{Namespace: "shop", Application: "db", Unit: unit, Term: m.term, ID: id}
	for _, uid := range []string{"one", "two"} {
		if rapid.Bool().Draw(t, "own of "+uid) {
			c.Changes = append(c.Changes, Change{Relation: "r-" + uid, UID: uid, Endpoint: "main", Own: true, Set: map[string]string{"by": id}})
		}
		if m.leader == unit && rapid.Bool().Draw(t, "application's of "+uid) {
			c.Changes = append(c.Changes, Change{Relation: "r-" + uid, UID: uid, Endpoint: "main", Set: map[string]string{"by": id}})
		}
	}
	if rapid.Bool().Draw(t, "secret") {
		c.Secrets = []secret.Write{{Kind: secret.Set, ID: secretOf(unit), Place: secret.Place{Key: id}}}
	}
	m.processes = append(m.processes, m.committer(c, true))
}

// newest returns the last transaction with a part, in order of term and commit point.
func (m *model) newest(has func(Commit) bool, term func(Commit) int) string {
	newest, highest := "", 0
	for _, c := range m.points {
		if has(c) && term(c) >= highest {
			newest, highest = c.ID, term(c)
		}
	}
	return newest
}

// Whatever processes do and whenever they die, each bag and secret has what the last transaction wrote,
// in order of the commit points, and all parts of a transaction are stored once (SAFETY.md E11). A leader
// of an earlier term does not overwrite a later one (P1).
func TestTransactionsAreWholeAndInOrder(t *testing.T) { rapid.Check(t, wholeAndInOrder) }

func FuzzTransactions(f *testing.F) { f.Fuzz(rapid.MakeFuzz(wholeAndInOrder)) }

func wholeAndInOrder(t *rapid.T) {
	m := newModel()
	for range rapid.IntRange(1, 60).Draw(t, "actions") {
		m.act(t)
	}
	for unit := range 2 {
		require.NoError(t, m.deliverer(unit).finish())
	}
	for _, o := range m.outboxes {
		require.True(t, o.content.empty())
	}
	for unit := range 2 {
		m.checkUnit(t, unit)
	}
	for _, uid := range []string{"one", "two"} {
		want := m.newest(func(c Commit) bool { return c.changes(uid, false) }, func(c Commit) int { return c.Term })
		assert.Equal(t, want, m.by(relation.Databag{Application: "db", Endpoint: "main", Relation: uid}))
	}
}

// act has something happen.
func (m *model) act(t *rapid.T) {
	switch rapid.IntRange(0, 9).Draw(t, "action") {
	case 0, 1:
		m.begin(t)
	case 2:
		m.processes = append(m.processes, m.deliverer(rapid.IntRange(0, 1).Draw(t, "unit")))
	case 3:
		m.leader, m.term = rapid.IntRange(0, 1).Draw(t, "leader"), m.term+1
	case 4:
		if n := len(m.processes); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(t, "dies")
			m.processes = append(m.processes[:i:i], m.processes[i+1:]...)
		}
	default:
		if n := len(m.processes); n > 0 {
			p := m.processes[rapid.IntRange(0, n-1).Draw(t, "process")]
			for range rapid.IntRange(1, 4).Draw(t, "steps") {
				if !p.done {
					p.step()
				}
			}
		}
	}
}

// checkUnit checks what belongs to one unit.
func (m *model) checkUnit(t *rapid.T, unit int) {
	whose := func(has func(Commit) bool) func(Commit) bool {
		return func(c Commit) bool { return c.Unit == unit && has(c) }
	}
	always := func(Commit) int { return 0 }
	for _, uid := range []string{"one", "two"} {
		want := m.newest(whose(func(c Commit) bool { return c.changes(uid, true) }), always)
		assert.Equal(t, want, m.by(relation.Databag{Application: "db", Endpoint: "main", Relation: uid, Unit: strconv.Itoa(unit)}))
	}
	wrote, count := whose(func(c Commit) bool { return len(c.Secrets) > 0 }), 1
	for _, c := range m.points {
		if wrote(c) {
			count++
		}
	}
	s := m.secrets[secretOf(unit)].content.Secret
	assert.Equal(t, count, s.Latest, "each write about a secret counts once")
	if count > 1 {
		assert.Equal(t, m.newest(wrote, always), s.Revisions[len(s.Revisions)-1].Place.Key)
	}
}

func (m *model) by(b relation.Databag) string { return m.bags[b.Name()].content.Data["by"] }

// changes reports whether a transaction changes a bag of a relation.
func (c Commit) changes(uid string, own bool) bool {
	for _, change := range c.Changes {
		if change.UID == uid && change.Own == own {
			return true
		}
	}
	return false
}
