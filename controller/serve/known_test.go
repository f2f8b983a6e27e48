package serve

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// ofDB is a secret of db that blog/4 keeps to an old revision of.
func ofDB() secret.Secret {
	return secret.Secret{
		ID: "read", Owner: secret.Owner{Application: "db"}, Latest: 2, Revisions: []secret.Revision{{Number: 1}, {Number: 2}},
		Access:  []secret.Access{{Relation: "r-1", Application: "blog"}},
		Readers: []secret.Reader{{Application: "blog", Unit: "4", Revision: 1, Label: "l"}, {Application: "blog", Unit: "none", Revision: 1}},
	}
}

// tellOfSecrets tells an application what a view shows it and of the secrets that it
// has by a name.
func tellOfSecrets(t *testing.T, view relation.View, n name, secrets ...secret.Secret) *telling {
	t.Helper()
	told, world := &telling{}, &replica{secrets: map[name][]secret.Secret{n: secrets}}
	told.take(view)
	require.NoError(t, told.takeSecrets(t.Context(), world, "shop", view))
	return told
}

// Each unit is told of its own secrets and of nobody else's, and the leader of those
// that it must care for; what does not differ is not told again.
func TestTellingOfSecrets(t *testing.T) {
	due := time.Unix(100, 0).UTC()
	secrets := []secret.Secret{ofDB(), {ID: "owned", Owner: secret.Owner{Application: "blog"}, Latest: 1, Rotates: due, Revisions: []secret.Revision{{Number: 1}}}}
	tell := func(leader leadership.Leader) *telling {
		view := blog("one")
		view.Leader = leader
		return tellOfSecrets(t, view, name{"shop", "blog"}, secrets...)
	}
	led := tell(leadership.Leader{Unit: 5, Term: 2})
	assert.Equal(t, []*v1alpha1.KnownSecret{{Id: "read", Label: "l", Latest: 2, Kept: 1}}, led.private[4].secrets)
	assert.Equal(t, []*v1alpha1.KnownSecret{{Id: "owned", Latest: 1, Rotates: 100}}, led.private[5].secrets)
	assert.Len(t, tell(leadership.Leader{}).private, 1, "nobody leads")

	again := tell(leadership.Leader{Unit: 5, Term: 2})
	again.keep(led)
	assert.Same(t, led.content, again.content)
	assert.Same(t, led.private[5], again.private[5])
	secrets[1].Latest = 2
	secrets[1].Revisions = []secret.Revision{{Number: 2}}
	again = tell(leadership.Leader{Unit: 5, Term: 2})
	again.keep(led)
	assert.Same(t, led.private[4], again.private[4], "it is no news to blog/4")
	assert.NotSame(t, led.private[5], again.private[5])
}

// A unit is not told of a secret that its relations let it read no more: its handler
// could only fail, and it would never hear that the relation is broken.
func TestTellingOfSecretsOfOpenRelations(t *testing.T) {
	tests := map[string]struct {
		why    string
		change func(*relation.Seen)
		told   int
	}{
		"Open":      {why: "it may read", change: func(*relation.Seen) {}, told: 1},
		"Ended":     {why: "its handlers are still to hear of the end", change: func(r *relation.Seen) { r.State.EndReason = "Deleted" }},
		"Suspended": {why: "until the Offer returns", change: func(r *relation.Seen) { r.Provider.Namespace, r.State.SuspendedSince = "bank", time.Unix(1, 0) }},
		"Another":   {why: "the grant was of an older one of the same two", change: func(r *relation.Seen) { r.UID = "r-2" }},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			view := blog("one")
			test.change(&view.Relations[0])
			assert.Len(t, tellOfSecrets(t, view, name{"shop", "blog"}, ofDB()).private, test.told, test.why)
		})
	}
}

// A reader hears of a secret in another namespace, as long as an Offer lets it read
// there (RELATIONS.md M6, SAFETY.md M7).
func TestTellingOfSecretsElsewhere(t *testing.T) {
	view, there := blog("one"), ofDB()
	there.Access[0].Application, there.Readers[0].Application = "blog.shop", "blog.shop"
	r := &view.Relations[0]
	r.Provider.Namespace, r.Shown.There.Namespace, r.State.Offer = "bank", "bank", "all"
	tell := func() map[int64]*private { return tellOfSecrets(t, view, name{"bank", "blog.shop"}, there).private }
	require.Len(t, tell(), 1)
	assert.Equal(t, []*v1alpha1.KnownSecret{{Id: "read", Label: "l", Latest: 2, Kept: 1}}, tell()[4].secrets)
	r.State.SuspendedSince = time.Unix(1, 0)
	assert.Empty(t, tell(), "not while it is suspended")
	r.State.SuspendedSince, r.Uncovered = time.Time{}, true
	assert.Empty(t, tell(), "nor on the word of the requirer's namespace alone")
}

// When a password that 200 units read is rotated, each is told of it and of its own
// refresh, and none of the others' (it would be 40000 snapshots).
func TestPrivateNewsIsToldToOne(t *testing.T) {
	inBubble(t, func(s scene) {
		const units = 200
		read, view, agents := ofDB(), blog("one"), []*agent(nil)
		read.Latest, read.Readers, view.Units = 1, nil, nil
		contents := domain.BagMap{}
		up, down := contents.Put(map[string]string{"is": "up"}), contents.Put(map[string]string{"is": "down"})
		view.Bags = contents.Over(view.Bags)
		for i := range units {
			pod := "blog-" + strconv.Itoa(i+1)
			s.r.pod(pod)
			view.Units = append(view.Units, application.Unit{Number: i, PodUID: "uid-" + pod})
			view.Relations[0].Own = append(view.Relations[0].Own, domain.Member{Unit: domain.Unit{Application: "blog", Number: i}, Bag: up})
			read.Readers = append(read.Readers, secret.Reader{Application: "blog", Unit: strconv.Itoa(i), Revision: 1})
			agents = append(agents, newAgent())
		}
		knows := func() {
			now := read
			now.Readers = slices.Clone(read.Readers)
			s.r.set(func() {
				s.r.views["blog"], s.r.secrets = view, map[name][]secret.Secret{{"shop", "blog"}: {now}}
			})
			synctest.Wait()
		}
		read.Revisions = []secret.Revision{{Number: 1}}
		knows()
		for i, a := range agents {
			converse(s.ctx, s.r, a, "token-blog-"+strconv.Itoa(i+1), nil)
		}
		synctest.Wait()
		read.Latest, read.Revisions = 2, []secret.Revision{{Number: 1}, {Number: 2}}
		knows()
		for i := range read.Readers {
			read.Readers[i].Revision = 2
			knows()
		}
		for _, a := range agents {
			require.Len(s.t, a.hosts(), 3, "at first, rotated, refreshed")
			require.EqualValues(s.t, 2, a.last().GetSecrets()[0].GetKept())
		}
		view.Relations[0].Own = slices.Clone(view.Relations[0].Own)
		view.Relations[0].Own[7].Bag = down
		knows()
		for i, a := range agents {
			require.Equal(s.t, i == 7, len(a.hosts()) == 4, "a unit's own bag is its own news too")
		}
	})
}
