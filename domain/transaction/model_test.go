package transaction

import (
	"cmp"
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
		return p.author().Unit == unit && p.author().ID != "" && !p.stored.posted
	})
	m.number++
	id := fmt.Sprintf("t%d", m.number)
	c := Commit{Namespace: "shop", Application: "db", Unit: unit, Term: m.term, ID: id}
	for _, uid := range []string{"one", "two"} {
		if rapid.Bool().Draw(t, "own of "+uid) {
			c.Changes = append(c.Changes, Change{Relation: "r-" + uid, UID: uid, Endpoint: "main", Own: true, Set: map[string]string{"by": id, id: "said"}})
		}
		if m.leader == unit && rapid.Bool().Draw(t, "application's of "+uid) {
			c.Changes = append(c.Changes, Change{Relation: "r-" + uid, UID: uid, Endpoint: "main", Set: map[string]string{"by": id, id: "said"}})
		}
	}
	if rapid.Bool().Draw(t, "secret") {
		c.Secrets = []secret.Write{{Kind: secret.Set, ID: secretOf(unit), Place: secret.Place{Key: id}}}
	}
	c.Secrets = append(c.Secrets, m.makeOrRemove(t, unit)...)
	if !c.Leads() {
		m.processes = append(m.processes, m.committer(c, true))
		return
	}
	p := m.deliverer(1 - unit)
	p.before = &c
	m.processes = append(m.processes, p)
}

// makeOrRemove returns the write that removes the secret that a unit has made, or makes one, or none.
func (m *model) makeOrRemove(t *rapid.T, unit int) []secret.Write {
	if !rapid.Bool().Draw(t, "makes or removes") {
		return nil
	}
	for _, w := range m.committed(unit, secret.Add) {
		if !slices.ContainsFunc(m.committed(unit, secret.Remove), func(r secret.Write) bool { return r.ID == w.ID }) {
			return []secret.Write{{Kind: secret.Remove, ID: w.ID}}
		}
	}
	id := fmt.Sprintf("made%016d", m.number)
	return []secret.Write{{Kind: secret.Add, ID: id, Own: true, Place: secret.Place{Key: id}}}
}

// committed returns the writes of a kind in a unit's committed transactions.
func (m *model) committed(unit int, kind secret.Kind) []secret.Write {
	var all []secret.Write
	for _, c := range m.points {
		for _, w := range c.Secrets {
			if c.Unit == unit && w.Kind == kind {
				all = append(all, w)
			}
		}
	}
	return all
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
		m.checkViews(t)
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
	for _, c := range m.points {
		for _, change := range c.Changes {
			assert.Contains(t, m.bags[c.Bag(change).Name()].content.Data, c.ID, "each part is stored, and what comes later is laid on top")
		}
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
		m.processes = slices.DeleteFunc(m.processes, func(p *process) bool { // their time is over with the leader's
			return p.author().ID != "" && p.author().Leads() && !p.stored.posted
		})
	case 4:
		if n := len(m.processes); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(t, "dies")
			m.processes = append(m.processes[:i:i], m.processes[i+1:]...)
		}
	default:
		if n := len(m.processes); n > 0 {
			at := rapid.IntRange(0, n-1).Draw(t, "process")
			for range rapid.IntRange(1, 4).Draw(t, "steps") {
				if p := m.processes[at]; p.done && p.before != nil && p.err == nil {
					m.processes[at] = m.committer(*p.before, true)
				} else if !p.done {
					p.picks = func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "request") }
					p.step()
				}
			}
		}
	}
}

// checkViews checks that all parts of each transaction are in view from its commit point on (TRUST.md T10).
func (m *model) checkViews(t *rapid.T) {
	shown := map[string]map[string]string{}
	for name, b := range m.bags {
		shown[name] = b.content.Data
	}
	var pending []Commit
	for _, o := range m.outboxes {
		pending = append(pending, o.content)
	}
	slices.SortFunc(pending, func(a, b Commit) int { return cmp.Compare(a.Term, b.Term) })
	for _, c := range pending {
		var stored Stored
		for _, change := range c.Changes {
			name := c.Bag(change).Name()
			stored.SetBag(name, StoredBag{Data: shown[name], Term: m.bags[name].content.Term})
		}
		for name, b := range Laid(stored, c) {
			shown[name] = b.Data
		}
	}
	for _, c := range m.points {
		for _, change := range c.Changes {
			require.Contains(t, shown[c.Bag(change).Name()], c.ID, "%s of %d/%d", c.ID, c.Unit, c.Term)
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
	removed := m.committed(unit, secret.Remove)
	for _, w := range m.committed(unit, secret.Add) {
		gone := slices.ContainsFunc(removed, func(r secret.Write) bool { return r.ID == w.ID })
		assert.Equal(t, gone, m.secrets[w.ID].content.Ended(), "a secret is there until it is removed, and never again")
	}
	wrote := whose(func(c Commit) bool {
		return slices.ContainsFunc(c.Secrets, func(w secret.Write) bool { return w.Kind == secret.Set })
	})
	count := 1
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
