package agent

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// sent returns a message as the other side receives it.
func sent[M proto.Message](t require.TestingT, m M, received M) M {
	raw, err := proto.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(raw, received))
	return received
}

// forSnapshot returns an update as one message; the relations API joins parts that units share.
func forSnapshot(u conversation.Update) *wire.Snapshot {
	s := &wire.Snapshot{Revisions: u.Revisions, Unit: ForUnit(u.View, u.Own)}
	for _, r := range u.View.Relations {
		s.Relations = append(s.Relations, ForRelation(r, u.View))
	}
	for _, w := range u.View.Waiting {
		s.Waiting = append(s.Waiting, ForWaiting(w))
	}
	for _, side := range u.Own.Sides {
		s.Own = append(s.Own, ForSide(side, u.View))
	}
	for _, k := range u.Own.Secrets {
		s.Secrets = append(s.Secrets, ForSecret(k))
	}
	return s
}

// whole returns a snapshot that has its databags as the domain knows it.
func whole(s *wire.Snapshot) conversation.Update {
	contents := conversation.BagMap{}
	for _, b := range Databags(s) {
		if len(b.GetData()) > 0 {
			contents[RefTo(b)] = b.GetData()
		}
	}
	return ToUpdate(s, contents)
}

func words() *rapid.Generator[string] { return rapid.StringMatching(`[a-z][a-z0-9]{0,4}`) }

func maybe() *rapid.Generator[string] { return rapid.OneOf(rapid.Just(""), words()) }

// bags refer to contents that are put beside them, or to none.
func bags(contents conversation.BagMap) *rapid.Generator[databag.Ref] {
	return rapid.Custom(func(t *rapid.T) databag.Ref {
		bag := rapid.MapOfN(words(), words(), 0, 3).Draw(t, "bag")
		if len(bag) == 0 {
			return databag.Ref{}
		}
		return contents.Put(bag)
	})
}

func times() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time { return time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, "s"), 0).UTC() })
}

func maybeTimes() *rapid.Generator[time.Time] {
	return rapid.OneOf(rapid.Just(time.Time{}), times())
}

func numbers() *rapid.Generator[int] { return rapid.IntRange(0, 1<<31-1) }

func list[T any](t *rapid.T, label string, g func(*rapid.T) T) []T {
	var all []T
	for range rapid.IntRange(0, 3).Draw(t, label) {
		all = append(all, g(t))
	}
	return all
}

func relations(t *rapid.T, contents conversation.BagMap) conversation.Relation {
	r := conversation.Relation{
		UID: words().Draw(t, "uid"), ID: numbers().Draw(t, "id"), Endpoint: words().Draw(t, "endpoint"),
		Role:      rapid.SampledFrom([]application.Role{application.Requirer, application.Provider, application.Peer}).Draw(t, "role"),
		Interface: words().Draw(t, "interface"), Version: numbers().Draw(t, "version"),
		There: conversation.End{
			Namespace: rapid.SampledFrom([]string{"shop", "data"}).Draw(t, "namespace"), Application: words().Draw(t, "there"), Endpoint: words().Draw(t, "remote"),
		},
		Life: conversation.Alive, RemoteBag: bags(contents).Draw(t, "bag"),
		Complete: rapid.Bool().Draw(t, "complete"), Reason: maybe().Draw(t, "reason"), Message: maybe().Draw(t, "message"), Held: rapid.Bool().Draw(t, "held"),
	}
	r.Remote = r.There.From("shop")
	switch rapid.IntRange(0, 2).Draw(t, "life") {
	case 1:
		r.Life, r.EndReason, r.Final, r.End = conversation.Ending, conversation.RelationRemoved, true, owing(t)
	case 2:
		r.Life, r.EndReason = conversation.Suspended, conversation.SuspendedReason
	}
	if rapid.Bool().Draw(t, "grants") {
		r.Granted = conversation.Granted{ID: words().Draw(t, "granted"), Revision: numbers().Draw(t, "of")}
	}
	unit := func(t *rapid.T) conversation.Unit {
		return conversation.Unit{Application: r.Remote, Number: numbers().Draw(t, "number")}
	}
	r.Units = list(t, "units", func(t *rapid.T) conversation.Member {
		return conversation.Member{Unit: unit(t), Bag: bags(contents).Draw(t, "unit")}
	})
	r.Departed = list(t, "departed", func(t *rapid.T) conversation.Tombstone {
		return conversation.Tombstone{
			Unit: unit(t), Reason: conversation.Replaced, Since: times().Draw(t, "since"), Bag: bags(contents).Draw(t, "left"),
			Owing: owing(t),
		}
	})
	return r
}

func owing(t *rapid.T) conversation.Owing {
	return conversation.Owing{
		Owed: list(t, "owed", func(t *rapid.T) int { return numbers().Draw(t, "to") }), Inherited: rapid.Bool().Draw(t, "inherited"),
	}
}

func sides(t *rapid.T, contents conversation.BagMap) conversation.Side {
	side := conversation.Side{Relation: words().Draw(t, "relation"), Bag: bags(contents).Draw(t, "own")}
	if rapid.Bool().Draw(t, "leads") {
		side.ApplicationBag = contents.Put(rapid.MapOfN(words(), words(), 0, 2).Draw(t, "application"))
		if rapid.Bool().Draw(t, "written") {
			side.ApplicationWriter = conversation.Unit{Application: "web", Number: numbers().Draw(t, "writer")}
		}
	}
	return side
}

// An agent knows what the relations API sent, all of it.
func TestSnapshotRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contents := conversation.BagMap{}
		of := func(t *rapid.T) conversation.Relation { return relations(t, contents) }
		want := conversation.Update{
			View: conversation.View{Application: "web", Namespace: "shop", Relations: list(t, "relations", of), Bags: contents},
			Own: conversation.Own{
				Number: numbers().Draw(t, "number"), Known: rapid.Bool().Draw(t, "known"),
				Leaving: rapid.SampledFrom([]conversation.Reason{"", conversation.ScaledDown}).Draw(t, "leaving"), Ignored: maybe().Draw(t, "ignored"),
				Sides: list(t, "sides", func(t *rapid.T) conversation.Side { return sides(t, contents) }),
			},
		}
		if rapid.Bool().Draw(t, "revisions") {
			want.Revisions = map[string]uint64{"databags": rapid.Uint64Range(1, 1<<60).Draw(t, "revision")}
		}
		want.View.Waiting = list(t, "waiting", func(t *rapid.T) conversation.Waiting {
			return conversation.Waiting{Endpoint: words().Draw(t, "waits"), Reason: words().Draw(t, "for"), Message: maybe().Draw(t, "why")}
		})
		want.Own.Secrets = list(t, "secrets", func(t *rapid.T) conversation.Secret {
			return conversation.Secret{
				ID: words().Draw(t, "secret"), Label: maybe().Draw(t, "label"), Latest: numbers().Draw(t, "latest"), Kept: numbers().Draw(t, "kept"),
				Own: rapid.Bool().Draw(t, "mine"), Rotates: maybeTimes().Draw(t, "rotates"), Expires: maybeTimes().Draw(t, "expires"),
			}
		})
		assert.Equal(t, want, whole(sent(t, forSnapshot(want), &wire.Snapshot{})))

		want.LastRelation = numbers().Draw(t, "last")
		memory, err := EncodeMemory(want)
		require.NoError(t, err)
		recalled, err := ParseMemory(memory)
		require.NoError(t, err)
		assert.EqualValues(t, want.LastRelation, recalled.GetLastRelation())
		again, err := EncodeMemory(whole(recalled))
		require.NoError(t, err)
		assert.Len(t, again, len(memory), "what is recalled is remembered again")
		assert.Empty(t, recalled.GetWaiting(), "it is about now")
		assert.Empty(t, recalled.GetSecrets())
	})
}

// Old agents and controllers leave fields out.
func TestAbsentFields(t *testing.T) {
	assert.Equal(t, conversation.Update{View: conversation.View{Bags: conversation.BagMap{}}}, ToUpdate(nil, conversation.BagMap{}))
	u := whole(&wire.Snapshot{Relations: []*wire.Relation{{RemoteApplication: "db"}}})
	r := u.View.Relations[0]
	assert.Equal(t, application.Requirer, r.Role)
	assert.Equal(t, "db", r.Remote, "of the same namespace")
	_, err := ParseMemory([]byte("\x00"))
	require.Error(t, err)
}

// A bag is known by the version of its message, and by its own where it has none, as in a memory. In a
// side, none and an empty bag of the application differ (RELATIONS.md P).
func TestBags(t *testing.T) {
	data := map[string]string{"a": "1"}
	tests := map[string]struct {
		why  string
		bag  *wire.Databag
		want databag.Ref
	}{
		"Versioned":   {why: "it is hashed once, by the controller", bag: &wire.Databag{Data: data, Version: "v"}, want: databag.Ref{Version: "v"}},
		"Unversioned": {why: "a memory has no versions", bag: &wire.Databag{Data: data}, want: databag.RefTo(data)},
		"Empty":       {why: "a message has no data for none and for an empty one", bag: ForBag(databag.RefTo(conversation.Bag{}), conversation.BagMap{})},
		"Piece":       {why: "its content was sent before", bag: &wire.Databag{Version: "v"}, want: databag.Ref{Version: "v"}},
		"None":        {why: "there is no message"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, RefTo(test.bag), test.why)
		})
	}
	none := ForBag(databag.Ref{}, conversation.BagMap{})
	assert.Equal(t, databag.Version(nil), none.GetVersion(), "every bag has a version")
	side := ForSide(conversation.Side{ApplicationBag: databag.RefTo(conversation.Bag{})}, conversation.BagMap{})
	assert.NotNil(t, side.GetApplication(), "the unit may read it")
	assert.False(t, toSide(side, "web").ApplicationBag.IsZero())
	assert.Nil(t, ForSide(conversation.Side{}, conversation.BagMap{}).GetApplication())
}

func TestSecretsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draft := secret.Draft{Write: secret.Write{
			Kind: rapid.SampledFrom([]secret.Kind{secret.Add, secret.Set, secret.Grant}).Draw(t, "kind"), ID: words().Draw(t, "id"), Own: rapid.Bool().Draw(t, "own"),
			Label: maybe().Draw(t, "label"), Description: maybe().Draw(t, "description"), Rotation: secret.Rotation(maybe().Draw(t, "rotation")),
			Expires: maybeTimes().Draw(t, "expires"), Revision: numbers().Draw(t, "revision"),
			Access: secret.Access{Relation: maybe().Draw(t, "relation"), Application: maybe().Draw(t, "application"), Unit: maybe().Draw(t, "unit")},
		}}
		if rapid.Bool().Draw(t, "content") {
			draft.Content = map[string][]byte{"password": []byte("p")}
		}
		assert.Equal(t, draft, ToDraft(sent(t, ForDrafts([]secret.Draft{draft})[0], &wire.SecretWrite{})))
		query := secret.Query{Label: maybe().Draw(t, "as"), Peek: rapid.Bool().Draw(t, "peek"), Refresh: rapid.Bool().Draw(t, "refresh"), Revision: numbers().Draw(t, "latest")}
		assert.Equal(t, query, ToQuery(sent(t, ForQuery("id", query), &wire.GetSecretRequest{})))
		reading := secret.Reading{ID: draft.ID, Revision: draft.Revision, Content: draft.Content}
		assert.Equal(t, reading, ToReading(sent(t, ForReading(reading), &wire.GetSecretResponse{})))
	})
	owned := secret.Secret{
		ID: "id", Owner: secret.Owner{Application: "db", Unit: "0"}, Label: "l", Revisions: []secret.Revision{{Number: 1}, {Number: 4, Expires: time.Unix(9, 0)}},
		Access: []secret.Access{{Relation: "r", Application: "web"}, {Relation: "r", Application: "cms", Revoked: true}},
	}
	out := ForOwned(owned)
	assert.EqualValues(t, 4, out.GetRevision())
	assert.EqualValues(t, 9, out.GetExpires())
	assert.True(t, out.GetOwn())
	assert.Len(t, out.GetAccess(), 1, "what was taken back is not granted")
}

func TestReportsRoundTrip(t *testing.T) {
	info := status.Info{State: status.Active, Message: "m", Code: "c", Resolution: "r"}
	assert.Equal(t, info, ToStatus(sent(t, ForStatus(info), &wire.Status{})))
	failure := status.Failure{Event: "e", Relation: "r", Attempts: 3, Said: "exit 1"}
	assert.Equal(t, failure, ToFailure(sent(t, ForFailure(failure), &wire.HandlerFailure{})))
	assert.Nil(t, ForFailure(status.Failure{}))
	answers := []conversation.Answer{{Unit: conversation.Unit{Application: "db", Number: 3}, Since: time.Unix(7, 0).UTC(), Handled: true}}
	assert.Equal(t, answers, ToAnswers("db", ForAnswers(answers)))
}

// A change names the bag by its kind of owner, and a removed key has an empty value. A handler's has what the handler saw.
func TestForChanges(t *testing.T) {
	for owner, application := range map[string]bool{"web": true, "web/" + strconv.Itoa(2): false} {
		change := conversation.Change{
			Address: conversation.Address{Relation: "r", Owner: owner},
			Added:   map[string]string{"a": "1"}, Changed: map[string]conversation.Pair{"b": {From: "1", To: "2"}}, Removed: map[string]string{"c": "3"},
		}
		want := &wire.Change{Relation: "r", Application: application, Set: map[string]string{"a": "1", "b": "2", "c": ""}}
		assert.True(t, proto.Equal(want, ForChanges([]conversation.Change{change}, false)[0]))
		want.Seen = map[string]string{"a": "", "b": databag.ValueVersion("1"), "c": databag.ValueVersion("3")}
		assert.True(t, proto.Equal(want, ForChanges([]conversation.Change{change}, true)[0]))
	}
}

// A memory has the version of a bag whose content is not in memory, and nothing of its data.
func TestMemoryOfABagInAFile(t *testing.T) {
	ref := databag.RefTo(conversation.Bag{"password": "secret"})
	memory, err := EncodeMemory(conversation.Update{View: conversation.View{
		Relations: []conversation.Relation{{ID: 7, RemoteBag: ref}}, Bags: conversation.BagMap{},
	}})
	require.NoError(t, err)
	assert.NotContains(t, string(memory), "secret")
	recalled, err := ParseMemory(memory)
	require.NoError(t, err)
	assert.Equal(t, ref, RefTo(recalled.GetRelations()[0].GetBag()))
}
