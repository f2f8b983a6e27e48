package transaction

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// orders is a store with two secrets, and one transaction about them and one that it makes.
type orders struct {
	*store

	// want has the secrets as they are after the transaction, if nothing else happens.
	want      map[string]secret.Secret
	writes    []secret.Write
	processes []*process
}

// kept are the secrets that are there before.
func kept() []string { return []string{"secret0000000000000a", "secret0000000000000b"} }

func newOrders() *orders {
	o := &orders{store: newStore(), want: map[string]secret.Secret{}}
	for _, id := range kept() {
		o.want[id] = secret.Secret{
			ID: id, Owner: secret.Owner{Application: "db", Unit: "1"}, Latest: 2,
			Revisions: []secret.Revision{{Number: 1, Place: secret.Place{Key: "old"}}, {Number: 2, Place: secret.Place{Key: "content"}}},
			Access:    []secret.Access{{Relation: "one", Application: "web"}},
			Readers:   []secret.Reader{{Application: "web", Unit: "0", Revision: 1}},
		}
		o.revision++
		o.secrets[id] = object[StoredSecret]{o.revision, StoredSecret{There: true, Secret: o.want[id]}}
	}
	return o
}

// write adds a write to the transaction, if it is admitted.
func (o *orders) write(t *rapid.T, n int) {
	w := secret.Write{
		ID:   rapid.SampledFrom(append(kept(), secretID)).Draw(t, "secret"),
		Kind: rapid.SampledFrom([]secret.Kind{secret.Add, secret.Set, secret.Set, secret.Grant, secret.Revoke, secret.Remove}).Draw(t, "kind"),
	}
	switch w.Kind {
	case secret.Add:
		w.ID, w.Own, w.Place = secretID, true, secret.Place{Key: fmt.Sprint("new", n)}
	case secret.Set:
		if rapid.Bool().Draw(t, "content") {
			w.Place = secret.Place{Key: fmt.Sprint("new", n)}
		}
		if rapid.Bool().Draw(t, "expires") {
			w.Expires = now().Add(time.Second)
		}
		w.Rotation = rapid.SampledFrom([]secret.Rotation{"", "hourly", secret.Never}).Draw(t, "rotation")
	case secret.Grant, secret.Revoke:
		w.Access = secret.Access{Relation: rapid.SampledFrom([]string{"one", "two"}).Draw(t, "relation"), Application: "web"}
	case secret.Remove:
		w.Revision = rapid.IntRange(0, 4).Draw(t, "revision")
	}
	author := secret.Unit{Application: "db", Number: "1", Leads: true}
	if after, err := secret.Apply(o.want[w.ID], w, author, now()); err == nil {
		o.want[w.ID] = after
		o.writes = append(o.writes, w)
	}
}

// deliver begins another process, which delivers the transaction, perhaps when revisions have ended.
func (o *orders) deliver(t *rapid.T) {
	d, at := o.deliverer(1), now().Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "later"))*time.Second)
	d.next = func(stored Stored) (Request, error) { return Deliver(stored, at) }
	o.processes = append(o.processes, d)
}

// read has the reader of a secret come to the latest revision.
func (o *orders) read(t *rapid.T) {
	id, reader := rapid.SampledFrom(kept()).Draw(t, "read"), secret.Unit{Application: "web", Number: "0"}
	k := o.secrets[id].content
	_, after, err := k.Read(reader, secret.Query{Refresh: true}, secret.Standing{Now: now(), Alive: []string{"one", "two"}})
	if err == nil {
		o.revision++
		k.Secret = after
		o.secrets[id] = object[StoredSecret]{o.revision, k}
	}
}

// A transaction that is committed is delivered whole, whatever it writes about secrets, in whichever order, by processes
// that are late or die, while a reader comes to later revisions (SAFETY.md E11, TRUST.md T10).
func TestOrdersOfSecrets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOrders()
		for n := range rapid.IntRange(1, 7).Draw(t, "writes") {
			o.write(t, n)
		}
		author := o.committer(with(commit("t", change("one", true, "a", "1"), change("two", true, "a", "1")), o.writes...), true)
		o.processes = []*process{author}
		for range 100 {
			what := rapid.IntRange(0, 11).Draw(t, "what")
			q := o.processes[rapid.IntRange(0, len(o.processes)-1).Draw(t, "process")]
			switch {
			case what == 0 && author.stored.posted && len(o.processes) < 3:
				o.deliver(t)
			case what == 1 && author.stored.posted:
				o.read(t)
			case !q.done:
				q.step()
			}
		}
		if !author.stored.posted {
			return
		}
		require.NoError(t, o.deliverer(1).finish())
		for _, q := range o.processes {
			require.NoError(t, q.finish())
			require.Empty(t, q.stored.Dropped())
		}
		o.check(t)
	})
}

// check compares what is stored to what is wanted. Of a secret that loses a revision, its reader decides which one is left.
func (o *orders) check(t *rapid.T) {
	require.Equal(t, map[string]string{"a": "1"}, o.data("one"))
	require.Equal(t, map[string]string{"a": "1"}, o.data("two"))
	for _, id := range append(kept(), secretID) {
		got, want := o.secrets[id].content.Secret, o.want[id]
		removes := slices.ContainsFunc(o.writes, func(w secret.Write) bool { return w.ID == id && w.Kind == secret.Remove && w.Revision > 0 })
		if !removes {
			require.Equal(t, want.Ended(), got.Ended(), id)
		}
		if got.Ended() {
			continue
		}
		require.Equal(t, want.Latest, got.Latest)
		require.ElementsMatch(t, want.Access, got.Access)
		if !removes {
			require.Equal(t, want.Revisions[len(want.Revisions)-1].Place, got.Revisions[len(got.Revisions)-1].Place)
		}
	}
}
