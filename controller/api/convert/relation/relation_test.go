package relation

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

func names() *rapid.Generator[string] { return rapid.StringMatching(`[a-z][a-z0-9-]{0,6}[a-z0-9]`) }

// seconds are times as the API stores them: whole seconds, UTC.
func seconds() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(1, 4e9).Draw(t, "seconds"), 0).UTC()
	})
}

func maybe[T any](g *rapid.Generator[T]) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		var none T
		if rapid.Bool().Draw(t, "there") {
			return g.Draw(t, "value")
		}
		return none
	})
}

// list is a list as the domain has it: nil, never empty.
func list[T any](g *rapid.Generator[T]) *rapid.Generator[[]T] {
	return rapid.Map(rapid.SliceOfN(g, 0, 4), func(all []T) []T {
		if len(all) == 0 {
			return nil
		}
		return all
	})
}

func conditions() *rapid.Generator[[]condition.Condition] {
	types := []condition.Type{condition.Ready, condition.Reconciling, condition.Stalled, condition.Held, condition.GateCycle}
	return rapid.Custom(func(t *rapid.T) []condition.Condition {
		var all []condition.Condition
		for _, kind := range types {
			if rapid.Bool().Draw(t, string(kind)) {
				all = append(all, condition.Condition{Type: kind, True: rapid.Bool().Draw(t, "true"), Reason: "Because", Message: rapid.String().Draw(t, "message")})
			}
		}
		return all
	})
}

// stored is an object as it comes back from the API server.
func stored[T any](t rapid.TB, o *T) *T {
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return &back
}

// What is stored reads as what was decided, so that looking again writes
// nothing: ToDomain after SetState is the identity.
func TestRelationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := relation.State{
			ID: rapid.IntRange(0, 1<<31-1).Draw(t, "id"), Retain: time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "retain")),
			Began: maybe(seconds()).Draw(t, "began"), HeldSince: maybe(seconds()).Draw(t, "held"), EndReason: maybe(names()).Draw(t, "end"), EndedSince: maybe(seconds()).Draw(t, "ended"), Conditions: conditions().Draw(t, "conditions"),
			Status: maybe(rapid.SampledFrom([]relation.Status{relation.Joining, relation.Joined, relation.Broken, relation.Failed})).Draw(t, "status"),
		}
		pair := relation.Pair{
			Key: relation.Key{
				Requirer: relation.End{Namespace: "shop", Application: names().Draw(t, "requirer"), Endpoint: names().Draw(t, "endpoint")},
				Provider: relation.End{Namespace: rapid.SampledFrom([]string{"shop", "bank"}).Draw(t, "namespace"), Application: names().Draw(t, "provider"), Endpoint: "db"},
			},
			Interface: names().Draw(t, "interface"), Version: rapid.IntRange(0, 1<<20).Draw(t, "version"),
		}
		r := ForPair("shop", pair)
		r.UID, r.Generation = "uid", 3
		KeepRelation(r, "identity", want)
		SetRelation(r, want, time.Now())
		got, err := ToRelation(stored(t, r))
		require.NoError(t, err)
		assert.Equal(t, want, got.State)
		assert.Equal(t, pair.Key, got.Key)
		assert.Equal(t, pair.Version, got.Version)
		assert.True(t, got.Declared)
		assert.LessOrEqual(t, len(r.Name), 63, "SAFETY.md C3")
		before := r.DeepCopy()
		KeepRelation(r, "another", got.State)
		SetRelation(r, got.State, time.Now().Add(time.Hour))
		assert.Equal(t, before, r, "and writing it again changes no time")
	})
}

func TestApplicationRoundTrip(t *testing.T) {
	endpoints := rapid.Custom(func(t *rapid.T) application.Endpoint {
		return application.Endpoint{
			Name: names().Draw(t, "name"), Interface: names().Draw(t, "interface"), Version: rapid.IntRange(0, 1<<20).Draw(t, "version"),
			Role:     rapid.SampledFrom([]application.Role{application.Provider, application.Requirer, application.Peer}).Draw(t, "role"),
			Optional: rapid.Bool().Draw(t, "optional"), Limit: rapid.IntRange(0, 1<<20).Draw(t, "limit"),
		}
	})
	units := rapid.Custom(func(t *rapid.T) application.Unit {
		return application.Unit{Number: rapid.IntRange(0, 1<<31-1).Draw(t, "number"), Pod: names().Draw(t, "pod"), PodUID: names().Draw(t, "uid"), Since: seconds().Draw(t, "since"), Gone: maybe(names()).Draw(t, "gone")}
	})
	waiting := rapid.Custom(func(t *rapid.T) relation.Waiting {
		return relation.Waiting{Endpoint: names().Draw(t, "endpoint"), Optional: rapid.Bool().Draw(t, "optional"), Reason: "Because", Message: rapid.String().Draw(t, "message")}
	})
	grants := rapid.Custom(func(t *rapid.T) relation.Grant {
		return relation.Grant{
			Endpoint: names().Draw(t, "endpoint"), Secret: names().Draw(t, "secret"), Key: names().Draw(t, "key"), Version: maybe(names()).Draw(t, "version"),
			Revision: rapid.IntRange(0, 1<<31-1).Draw(t, "revision"), Refused: rapid.Bool().Draw(t, "refused"),
		}
	})
	ends := rapid.Custom(func(t *rapid.T) relation.RecentEnd {
		return relation.RecentEnd{
			Relation: names().Draw(t, "relation"), Namespace: names().Draw(t, "of"), Time: seconds().Draw(t, "at"), Reason: names().Draw(t, "reason"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := relation.ApplicationState{
			Endpoints: list(endpoints).Draw(t, "endpoints"), Sources: list(names()).Draw(t, "sources"), Units: list(units).Draw(t, "units"),
			NextUnit: rapid.IntRange(0, 1<<31-1).Draw(t, "next"),
			Waiting:  list(waiting).Draw(t, "waiting"), Conditions: conditions().Draw(t, "conditions"),
			Restarts: relation.Restarts{Times: list(seconds()).Draw(t, "times")}, Grants: list(grants).Draw(t, "grants"),
			Ends: list(ends).Draw(t, "ends"), EndsOwed: rapid.IntRange(0, 1<<31-1).Draw(t, "owed"),
		}
		if rapid.Bool().Draw(t, "is vacant") {
			want.Vacant = seconds().Draw(t, "vacant")
		}
		if versions := rapid.MapOf(names(), names()).Draw(t, "versions"); len(versions) > 0 {
			want.Restarts.Versions = versions
		}
		var a v1alpha1.RelatedApplication
		a.Name = "blog"
		copied := rapid.Bool().Draw(t, "copied")
		KeepApplication(&a, relation.Record{Copied: copied, State: want})
		SetApplication(&a, want, time.Now())
		got, err := ToRecord(stored(t, &a))
		require.NoError(t, err)
		assert.Equal(t, want, got.State)
		assert.Equal(t, copied, got.Copied)
	})
}

func TestDatabagRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "data")
		b := v1alpha1.Databag{Spec: ForBag(relation.Databag{Application: "db", Endpoint: "db"})}
		b.Name = relation.DatabagName("db", "db")
		SetData(&b, history.Entry{}, data, nil, time.Now())
		got, err := ToDatabag(stored(t, &b))
		require.NoError(t, err)
		assert.True(t, maps.Equal(data, got.Data))
		assert.Equal(t, databag.Version(got.Data), b.State.Version)
		assert.Empty(t, b.Status, "TRUST.md T5: all of it stands outside of the status")
	})
}

// A record that somebody else wrote is no reason to refuse a commit: it begins anew.
func TestRecordThatCannotBeRead(t *testing.T) {
	for _, record := range [][]byte{[]byte("no gzip"), zipped([]byte("no JSON")), zipped([]byte("{}\n"))[:20]} {
		b := &v1alpha1.Databag{State: v1alpha1.DatabagState{Commits: 7, Record: record}}
		_, err := ToHistory(b)
		require.Error(t, err)
		SetData(b, history.Entry{Who: "db/3"}, map[string]string{"a": "1"}, nil, time.Now())
		r, err := ToHistory(b)
		require.NoError(t, err)
		require.Len(t, r.Entries, 1)
		assert.EqualValues(t, 8, r.Entries[0].Sequence)
	}
}

// A record is read as it was written, over many commits.
func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &v1alpha1.Databag{Spec: ForBag(relation.Databag{Application: "db", Endpoint: "db", Relation: "uid", Unit: "3"})}
		now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		var want history.Log
		for i, data := range rapid.SliceOfN(rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "secret"}), names()), 1, 300).Draw(t, "contents") {
			e := history.Entry{Who: "db/3", Cause: "relation-set", Transaction: "T", Term: i}
			at := e
			at.Address, at.Time = conversation.Address{Relation: "uid", Owner: "db/3"}, now
			want = want.Append(at, b.State.Data, data, []string{"secret"})
			SetData(b, e, data, []string{"secret"}, now)
			b = stored(t, b)
		}
		got, err := ToHistory(b)
		require.NoError(t, err)
		require.Equal(t, want, got)
		to, err := got.Replay(ToAddress(b))
		require.NoError(t, err)
		require.Empty(t, to.Differs(b.State.Data))
	})
}

func TestUnreadable(t *testing.T) {
	r := ForPair("shop", relation.Pair{Key: relation.Key{Requirer: relation.End{Namespace: "shop", Application: "blog", Endpoint: "db"}}})
	r.Spec.Requirer.Namespace = "bank"
	_, err := ToRelation(r)
	require.ErrorContains(t, err, "requirer's namespace", "SAFETY.md M7")
	r.Spec.Requirer.Namespace, r.State.ID = "", -1
	_, err = ToRelation(r)
	require.Error(t, err)
	b := v1alpha1.Databag{Spec: ForBag(relation.Databag{Application: "db", Endpoint: "db"})}
	b.Name = "anything"
	_, err = ToDatabag(&b)
	require.Error(t, err, "a bag that a person made is nobody's")
	a := v1alpha1.RelatedApplication{State: v1alpha1.RelatedApplicationState{NextUnit: 1 << 40}}
	_, err = ToRecord(&a)
	require.Error(t, err)
}

// A transaction in an outbox is the one that was committed, as far as its delivery needs it.
func TestCommitRoundTrip(t *testing.T) {
	c := transaction.Commit{
		Namespace: "shop", Application: "db", Unit: 2, Term: 3, Cause: "relation-set", ID: "t",
		Changes: []transaction.Change{
			{Relation: "r", UID: "one", Endpoint: "main", Own: true, Set: map[string]string{"a": "1"}, Secret: []string{"password"}},
			{Relation: "r", UID: "two", Namespace: "office", Endpoint: "main", Set: map[string]string{"a": ""}},
		},
		Secrets: []secret.Write{
			{Kind: secret.Add, ID: "s", Own: true, Place: secret.Place{Shard: 3, Key: "k"}, Label: "l"},
			{Kind: secret.Grant, ID: "s", Access: secret.Access{Relation: "one", Name: "r", Application: "web", Unit: "0"}},
		},
	}
	var outbox v1alpha1.Databag
	assert.False(t, Holds(&outbox))
	outbox.Namespace, outbox.Spec = "shop", ForOutbox("db", "2")
	SetCommit(&outbox, c)
	outbox = *stored(t, &outbox)
	assert.True(t, Holds(&outbox))
	assert.Equal(t, c, ToCommit(&outbox))
}
