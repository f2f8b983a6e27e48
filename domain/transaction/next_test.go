package transaction

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

const secretID = "secret00000000000000"

// commit returns a transaction of unit 1 in term 3.
func commit(id string, changes ...Change) Commit {
	return Commit{Namespace: "shop", Application: "db", Unit: 1, Term: 3, ID: id, Changes: changes}
}

// change returns a change of the unit's own bag of a relation, or of its application's.
func change(uid string, own bool, set ...string) Change {
	c := Change{Relation: "r-" + uid, UID: uid, Endpoint: "main", Own: own, Set: map[string]string{}}
	for i := 0; i+1 < len(set); i += 2 {
		c.Set[set[i]] = set[i+1]
	}
	return c
}

func with(c Commit, writes ...secret.Write) Commit {
	c.Secrets = writes
	return c
}

func adds() secret.Write {
	return secret.Write{Kind: secret.Add, ID: secretID, Own: true, Place: secret.Place{Key: "content"}}
}

// data returns the content of a unit's own bag of a relation.
func (s *store) data(uid string) map[string]string {
	return s.bags[relation.Databag{Application: "db", Endpoint: "main", Relation: uid, Unit: "1"}.Name()].content.Data
}

// A transaction costs as few requests as its parts need, in an order in which nothing is lost.
func TestRequests(t *testing.T) {
	tests := map[string]struct {
		why    string
		before []Commit
		commit Commit
		want   string
	}{
		"FirstOfABag": {
			why: "a bag is created by its first write", commit: commit("t", change("one", true, "a", "1")),
			want: "ReadBag ReadOutbox WriteBag",
		},
		"OneBag": {
			why: "E11: one bag is that bag's write", before: []Commit{commit("s", change("one", true, "a", "1"))},
			commit: commit("t", change("one", true, "a", "2")), want: "ReadBag ReadOutbox WriteBag",
		},
		"NothingNew": {
			why: "P3: what changes nothing is not written, unless the outbox is about to change it", before: []Commit{commit("s", change("one", true, "a", "1"))},
			commit: commit("t", change("one", true, "a", "1", "b", "")), want: "ReadBag ReadOutbox",
		},
		"OneSecret": {
			why: "E11: one secret is that secret's write", commit: with(commit("t"), adds()),
			want: "ReadSecret ReadOutbox WriteSecret",
		},
		"SeveralBags": {
			why: "E11: the outbox is the commit point; no bag is read again",
			before: []Commit{
				commit("r", change("one", true, "a", "1")), commit("s", change("two", true, "a", "1")),
				commit("q", change("one", true, "b", "1"), change("two", true, "b", "1")),
			},
			commit: commit("t", change("one", true, "a", "2"), change("two", true, "a", "2")),
			want:   "ReadBag ReadBag ReadOutbox Try Try Post WriteBag WriteBag Empty",
		},
		"SecretFirst": {
			why: "P5: what refers to a secret comes after it", commit: with(commit("t", change("one", true, "a", secretID)), adds()),
			want: "ReadBag ReadOutbox ReadSecret Try Try Post WriteSecret WriteBag Empty",
		},
		"AddedAndRemoved": {
			why:    "what ends in the transaction that adds it is never stored",
			commit: with(commit("t", change("one", true, "a", "1")), adds(), secret.Write{Kind: secret.Remove, ID: secretID}),
			want:   "ReadBag ReadOutbox ReadSecret Try Post WriteBag Empty",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			for _, c := range tc.before {
				require.NoError(t, s.committer(c, true).finish())
			}
			p := s.committer(tc.commit, true)
			require.NoError(t, p.finish(), tc.why)
			assert.Equal(t, tc.want, strings.Join(p.did, " "), tc.why)
		})
	}
}

// A process that dies after any request leaves a transaction whole or not at all, once another process
// has delivered the outbox or the unit has stored its next transaction.
func TestDeath(t *testing.T) {
	c := with(commit("t", change("one", true, "a", "1"), change("two", true, "a", "1")), adds())
	whole := newStore().committer(c, true)
	require.NoError(t, whole.finish())
	next := map[string]func(*store) error{
		"Delivery": func(s *store) error { return s.deliverer(1).finish() },
		"OneBag":   func(s *store) error { return s.committer(commit("u", change("three", true, "b", "1")), true).finish() },
		"TwoBags": func(s *store) error {
			return s.committer(commit("u", change("three", true, "b", "1"), change("four", true, "b", "1")), true).finish()
		},
	}
	for name, after := range next {
		t.Run(name, func(t *testing.T) {
			for requests := range len(whole.did) - 3 { // two bags and the outbox are read when the process begins
				s := newStore()
				p := s.committer(c, true)
				for range requests {
					p.step()
				}
				require.NoError(t, after(s))
				if len(s.points) > 0 && s.points[0].ID == "t" {
					assert.Equal(t, map[string]string{"a": "1"}, s.data("one"), "after %d requests", requests)
					assert.Equal(t, map[string]string{"a": "1"}, s.data("two"), "after %d requests", requests)
					assert.Equal(t, 1, s.secrets[secretID].content.Latest, "after %d requests", requests)
				} else {
					assert.Empty(t, s.data("one"), "after %d requests", requests)
					assert.Empty(t, s.secrets, "after %d requests", requests)
				}
			}
		})
	}
}

// What cannot be delivered is dropped whole (TRUST.md T10), and its unit can write again.
func TestDropped(t *testing.T) {
	full := map[string]string{}
	for _, key := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		full[key] = strings.Repeat("x", databag.MaxValue)
	}
	other := with(commit("t", change("one", true, "a", "1")), adds())
	tests := map[string]struct {
		why    string
		put    func(*store)
		commit Commit
		one    map[string]string
		two    map[string]string
		// dropped is set where the author gets an error.
		dropped bool
	}{
		"LaterTerm": {
			why: "P1: a leader of a later term is not overwritten", commit: commit("t", change("one", true, "a", "1"), change("two", false, "a", "1")),
			put: func(s *store) {
				b := relation.Databag{Application: "db", Endpoint: "main", Relation: "two"}
				s.bags[b.Name()] = object[StoredBag]{1, StoredBag{Term: 4, Data: map[string]string{"a": "later"}}}
			},
			one: map[string]string{"a": "1"}, dropped: true,
		},
		"NoRoom": {
			why: "P6: a bag that was filled meanwhile", commit: commit("t", change("one", true, "8", full["1"], "9", full["1"]), change("two", true, "a", "1")),
			put: func(s *store) {
				b := relation.Databag{Application: "db", Endpoint: "main", Relation: "one", Unit: "1"}
				s.bags[b.Name()] = object[StoredBag]{1, StoredBag{Data: full}}
			},
			one: full, dropped: true,
		},
		"ForeignSecret": {
			why: "P5: no bag may refer to a secret that is another unit's", commit: other,
			put: func(s *store) {
				s.secrets[secretID] = object[StoredSecret]{1, StoredSecret{Secret: secret.Secret{ID: secretID, Owner: secret.Owner{Application: "db", Unit: "9"}}}}
			},
			dropped: true,
		},
		"SecretWentFirst": {
			why: "another process has removed it as part of the same transaction", put: func(s *store) { delete(s.secrets, secretID) },
			commit: with(commit("t", change("one", true, "a", "1")), secret.Write{Kind: secret.Remove, ID: secretID}),
			one:    map[string]string{"a": "1"},
		},
		"UnknownSecret": {
			why: "what grants a secret that has gone is dropped with its bags", put: func(s *store) { delete(s.secrets, secretID) },
			commit:  with(commit("t", change("one", true, "a", "1")), secret.Write{Kind: secret.Set, ID: secretID, Label: "new"}),
			dropped: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			if tc.commit.Secrets != nil && tc.commit.Secrets[0].Kind != secret.Add {
				require.NoError(t, s.committer(with(commit("s"), adds()), true).finish())
			}
			p := s.committer(tc.commit, true)
			for !p.stored.posted {
				require.False(t, p.done, "%v", p.err)
				p.step()
			}
			tc.put(s)
			if tc.dropped {
				require.ErrorContains(t, p.finish(), "was dropped whole", tc.why)
			} else {
				require.NoError(t, p.finish(), tc.why)
			}
			assert.Equal(t, tc.one, s.data("one"), tc.why)
			assert.Equal(t, tc.two, s.data("two"), tc.why)
			require.NoError(t, s.committer(commit("u", change("three", true, "a", "1"), change("four", true, "a", "1")), true).finish())
		})
	}
}

// A process whose request is over does not commit after the unit's next transaction.
func TestLate(t *testing.T) {
	next := commit("u", change("one", true, "a", "2"), change("two", true, "a", "2"))
	tests := map[string]struct {
		why    string
		commit Commit
		steps  int
	}{
		"OneBag":      {why: "the bag was written meanwhile", commit: commit("t", change("one", true, "a", "1")), steps: 0},
		"SeveralBags": {why: "so was the outbox", commit: commit("t", change("one", true, "a", "1"), change("two", true, "a", "1")), steps: 1},
		"OneSecret":   {why: "so was the secret", commit: with(commit("t"), secret.Write{Kind: secret.Set, ID: secretID, Label: "old"}), steps: 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			require.NoError(t, s.committer(with(commit("s"), adds()), true).finish())
			late := s.committer(tc.commit, true)
			for range tc.steps {
				late.step()
			}
			require.NoError(t, s.committer(with(next, secret.Write{Kind: secret.Set, ID: secretID, Label: "new"}), true).finish())
			require.ErrorIs(t, late.finish(), ErrBusy, tc.why)
			assert.Equal(t, map[string]string{"a": "2"}, s.data("one"))
			assert.Equal(t, "new", s.secrets[secretID].content.Label)
		})
	}
}

// A process that is late does not make a secret again that the unit has removed meanwhile (TRUST.md T10).
func TestLateCreation(t *testing.T) {
	removes := secret.Write{Kind: secret.Remove, ID: secretID}
	tests := map[string]struct {
		why    string
		commit Commit
	}{
		"Alone":        {why: "its author has asked another process meanwhile", commit: with(commit("t"), adds())},
		"InAnOutbox":   {why: "another process has delivered it", commit: with(commit("t", change("one", true, "a", "1")), adds())},
		"SecretsAlone": {why: "a grant is part of it", commit: with(commit("t"), adds(), secret.Write{Kind: secret.Set, ID: secretID, Label: "l"})},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			late := s.committer(tc.commit, true)
			for !late.about("WriteSecret") {
				require.False(t, late.done, "%v", late.err)
				late.step()
			}
			if late.stored.posted {
				require.NoError(t, s.deliverer(1).finish())
			} else {
				require.NoError(t, s.committer(tc.commit, true).finish())
			}
			require.False(t, s.secrets[secretID].content.Ended())
			require.NoError(t, s.committer(with(commit("u"), removes), true).finish())
			_ = late.finish()
			assert.True(t, s.secrets[secretID].content.Ended(), tc.why)
		})
	}
}

func TestPrepare(t *testing.T) {
	s := newStore()
	require.NoError(t, s.committer(commit("s", change("one", true, "a", "1")), true).finish())

	p := s.committer(commit("t", change("one", true, "a", "2"), change("two", true), change("one", true, "b", "3", "a", "4")), true)
	require.NoError(t, p.err)
	assert.Equal(t, []Change{change("one", true, "a", "4", "b", "3")}, p.commit.Changes, "one change for each bag, and none that changes nothing")

	tests := map[string]struct {
		why    string
		leads  bool
		change Change
		err    error
	}{
		"NotLeading": {why: "P1: an application's bag needs the leader", change: change("one", false, "a", "1"), err: ErrDeposed},
		"Own":        {why: "its own bag needs none", change: change("one", true, "a", "2")},
		"NoKey":      {why: "P6", change: change("one", true, "", "1"), err: ErrInvalid},
		"TooLong":    {why: "P6", change: change("one", true, "a", strings.Repeat("x", databag.MaxValue+1)), err: ErrInvalid},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, s.committer(commit("t", tc.change), tc.leads).err, tc.err, tc.why)
		})
	}
}

// A secret that is refused when it is written alone is refused to its author.
func TestRefusedSecret(t *testing.T) {
	s := newStore()
	err := s.committer(with(commit("t"), secret.Write{Kind: secret.Set, ID: secretID, Label: "new"}), true).finish()
	assert.Equal(t, conversation.Gone, conversation.RefusalOf(err))
}

// What a commit writes for: what lives in the writer's own namespace has no home
// elsewhere (SAFETY.md M7).
func TestCommitsKnowTheRelationsHome(t *testing.T) {
	for home, want := range map[string]relation.Home{"": {}, "shop": {}, "office": {Namespace: "office", Name: "r"}} {
		c := Commit{Namespace: "shop", Application: "db"}
		assert.Equal(t, want, c.Bag(Change{Relation: "r", UID: "u", Namespace: home}).Home, "home %q", home)
	}
}

// A delivery reads the outbox again after everything that it writes.
func TestDeliveryReadsTheOutboxAgain(t *testing.T) {
	s := newStore()
	p := s.committer(commit("t", change("one", true, "a", "1"), change("two", true, "a", "1")), true)
	for !p.stored.posted {
		p.step()
	}
	d := s.deliverer(1)
	require.NoError(t, d.finish())
	assert.Equal(t, "ReadOutbox ReadBag ReadBag ReadOutbox WriteBag WriteBag Empty", strings.Join(d.did, " "))
}

// What the API server does not take is refused before the commit point, and nothing of it is stored (TRUST.md T10).
func TestRefusedBeforeTheCommitPoint(t *testing.T) {
	s := newStore()
	c := commit("t", change("one", true, "a", "1"), change("two", true, "a", "1"))
	s.refused = c.Bag(c.Changes[1]).Name()
	p := s.committer(c, true)
	require.ErrorIs(t, p.finish(), errRefused)
	assert.Equal(t, "ReadBag ReadBag ReadOutbox Try Try", strings.Join(p.did, " "))
	assert.Empty(t, s.points)
	assert.Empty(t, s.data("one"))
}

// A transaction that is dropped after its commit point is the error of its author, once: of the commit itself or, where
// another process has dropped it, of the next one (TRUST.md T10).
func TestDroppedIsReported(t *testing.T) {
	post := func() (*store, *process) {
		s := newStore()
		c := commit("t", change("one", false, "a", "1"), change("two", true, "a", "1"))
		c.Term = 1
		p := s.committer(c, true)
		for len(s.points) == 0 {
			p.step()
		}
		name := c.Bag(c.Changes[0]).Name()
		s.revision++
		s.bags[name] = object[StoredBag]{s.revision, StoredBag{Term: 2, There: true}}
		return s, p
	}
	s, p := post()
	require.ErrorContains(t, p.finish(), "the unit's last transaction was dropped whole: cannot write the databag of db:main: the unit is not its application's leader; write it again")
	assert.Empty(t, s.data("two"))

	s, _ = post()
	other := s.deliverer(1)
	require.NoError(t, other.finish(), "it is delivered as far as it can be")
	assert.NotEmpty(t, other.stored.dropped, "the executor stores why")
	var stored Stored
	c := commit("u", change("two", true, "a", "2"))
	stored.SetBag(c.Bag(c.Changes[0]).Name(), StoredBag{})
	stored.SetOutbox(StoredOutbox{There: true, Dropped: "a reason"})
	request, err := Next(c, stored, now())
	require.NoError(t, err)
	require.Equal(t, Empty{}, request, "the reason goes from the outbox")
	stored.Emptied(Empty{})
	_, err = Next(c, stored, now())
	require.ErrorContains(t, err, "dropped whole: a reason")
}

// A view shows a committed transaction whole, or not at all (TRUST.md T10).
func TestLaid(t *testing.T) {
	c := commit("t", change("one", false, "a", "1"), change("two", true, "a", "1", "b", ""))
	one, two := c.Bag(c.Changes[0]).Name(), c.Bag(c.Changes[1]).Name()
	tests := map[string]struct {
		why      string
		one, two StoredBag
		want     map[string]map[string]string
	}{
		"Before": {
			why: "each part lies over its bag", one: StoredBag{Term: 1, Data: map[string]string{"c": "3"}}, two: StoredBag{Data: map[string]string{"b": "2"}},
			want: map[string]map[string]string{one: {"a": "1", "c": "3"}, two: {"a": "1"}},
		},
		"Between": {
			why: "what is delivered is as it was delivered", one: StoredBag{Term: 3, Data: map[string]string{"a": "1"}},
			want: map[string]map[string]string{two: {"a": "1"}},
		},
		"LaterTerm": {why: "it will be dropped whole", one: StoredBag{Term: 4}, want: map[string]map[string]string{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var s Stored
			s.SetBag(one, tc.one)
			s.SetBag(two, tc.two)
			c.Term = 3
			got := map[string]map[string]string{}
			for name, b := range Laid(s, c) {
				got[name] = b.Data
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}
