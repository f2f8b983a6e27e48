package transaction

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// posted returns a store whose bags have a=1, and a transaction of a=2 in them that is committed and not delivered.
func posted(t *testing.T) *store {
	s := newStore()
	require.NoError(t, s.committer(commit("s", change("one", true, "a", "1"), change("two", true, "a", "1")), true).finish())
	p := s.committer(commit("t", change("one", true, "a", "2"), change("two", true, "a", "2")), true)
	for !p.stored.posted {
		p.step()
	}
	return s
}

// A commit that writes back what an undelivered one has changed is not taken for one that changes nothing: views show
// the undelivered one (TRUST.md T10).
func TestWrittenBack(t *testing.T) {
	for name, back := range map[string]Commit{
		"OneBag":      commit("u", change("one", true, "a", "1")),
		"SeveralBags": commit("u", change("one", true, "a", "1"), change("two", true, "b", "3")),
	} {
		t.Run(name, func(t *testing.T) {
			s := posted(t)
			require.NoError(t, s.committer(back, true).finish())
			require.NoError(t, s.deliverer(1).finish())
			assert.Equal(t, map[string]string{"a": "1"}, s.data("one"))
		})
	}
}

// seen adds the versions of the values that the author of a change acted on.
func seen(c Change, values ...string) Change {
	c.Seen = map[string]string{}
	for i := 0; i+1 < len(values); i += 2 {
		c.Seen[values[i]] = databag.ValueVersion(values[i+1])
	}
	return c
}

// A handler that acted on an older value than the one that is stored does not replace it: an earlier commit of its unit
// was stored after the handler had begun (SAFETY.md V4, TRUST.md T10).
func TestActedOnOlderValues(t *testing.T) {
	undelivered := func(t *testing.T) *store { return posted(t) }
	delivered := func(t *testing.T) *store {
		s := posted(t)
		require.NoError(t, s.deliverer(1).finish())
		return s
	}
	other := change("three", true, "b", "1")
	tests := map[string]struct {
		why    string
		store  func(*testing.T) *store
		commit Commit
		busy   bool
		one    string
	}{
		"Older":       {"the value is a newer one", delivered, commit("u", seen(change("one", true, "a", "3"), "a", "1")), true, "2"},
		"Nothing":     {"there was none then", delivered, commit("u", seen(change("one", true, "a", "3"), "a", "")), true, "2"},
		"Undelivered": {"views show it", undelivered, commit("u", seen(change("one", true, "a", "3"), "a", "1")), true, "2"},
		"Several":     {"nothing of it is stored", undelivered, commit("u", seen(change("one", true, "a", "3"), "a", "1"), other), true, "2"},
		"Removal":     {"it would be lost", delivered, commit("u", seen(change("one", true, "a", ""), "a", "1")), true, "2"},
		"Current":     {"that is what it saw", delivered, commit("u", seen(change("one", true, "a", "3"), "a", "2")), false, "3"},
		"Laid":        {"views show it", undelivered, commit("u", seen(change("one", true, "a", "3"), "a", "2"), other), false, "3"},
		"Same":        {"there is nothing to replace", delivered, commit("u", seen(change("one", true, "a", "2"), "a", "1")), false, "2"},
		"Given": {"what is not stored has a value from elsewhere, as an address has", delivered,
			commit("u", seen(change("one", true, "a", "3", "ingress-address", "x"), "a", "2", "ingress-address", "10.0.0.1")), false, "3"},
		"Unknown": {"an agent of an earlier version does not say", delivered, commit("u", change("one", true, "a", "3")), false, "3"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := tc.store(t)
			err := s.committer(tc.commit, true).finish()
			if tc.busy {
				require.ErrorIs(t, err, ErrChanged, tc.why)
				require.ErrorContains(t, err, "cannot write a in the databag of db:main: it was changed after it was read", tc.why)
				assert.Empty(t, s.data("three"), tc.why)
			} else {
				require.NoError(t, err, tc.why)
			}
			require.NoError(t, s.deliverer(1).finish())
			assert.Equal(t, tc.one, s.data("one")["a"], tc.why)
		})
	}
}
