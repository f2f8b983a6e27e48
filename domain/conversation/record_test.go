package conversation_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

func isSecret(key string) bool { return key == secret }

// commit is an entry of web/0 that makes one content of its bag of another.
func commit(before, after bag) conversation.Entry {
	at := conversation.ForUnit("uid-1", unit("web/0"))
	return conversation.Entry{Time: epoch(), Who: "web/0", Cause: "changed db/0", Change: conversation.Compare(at, before, after)}
}

// A line of the record, as people and programs read it; the value of a secret
// field is nowhere in it.
func TestRecordLine(t *testing.T) {
	e := commit(bag{"a": "1", "b": "2", secret: "old-secret"}, bag{"b": "<3>", "c": "4", secret: "new-secret"})
	r := conversation.Record{}.Append(e, isSecret)
	lines, err := conversation.EncodeEntries(r.Entries)
	require.NoError(t, err)
	assert.Equal(t, `{"sequence":1,"time":"2026-01-02T03:04:05Z","who":"web/0","cause":"changed db/0","relation":"uid-1","owner":"web/0",`+
		`"added":{"c":"4"},"changed":{"b":{"from":"2","to":"<3>"},"password":{"from":"","to":""}},"removed":{"a":"1"},`+
		`"before":"`+e.Before+`","after":"`+e.After+`"}`+"\n", string(lines))
	assert.Equal(t, "old-secret", e.Changed[secret].From, "what is recorded is left as it was")

	gone := conversation.Record{}.Append(commit(bag{secret: "old-secret"}, nil), isSecret)
	came := conversation.Record{}.Append(commit(nil, bag{secret: "new-secret"}), isSecret)
	lines, err = conversation.EncodeEntries(append(gone.Entries, came.Entries...))
	require.NoError(t, err)
	assert.NotContains(t, string(lines), "-secret")
	state, err := conversation.Replay(came.Entries, nil)
	require.NoError(t, err)
	assert.Equal(t, conversation.State{"web/0": {secret: ""}}, state, "that there is a secret can be seen")
}

// A record keeps the last 256 commits and what was there before them, and is
// itself never changed (SAFETY.md P2).
func TestRecordIsBounded(t *testing.T) {
	var r, half conversation.Record
	var was bag
	for i := range 2*conversation.MaxEntries + 3 {
		is := bag{"count": strconv.Itoa(i), secret: "value-" + strconv.Itoa(i)}
		r = r.Append(commit(was, is), isSecret)
		was = is
		if i == conversation.MaxEntries-1 {
			half = r
		}
		require.LessOrEqual(t, len(r.Entries), conversation.MaxEntries)
	}
	assert.Len(t, r.Entries, conversation.MaxEntries)
	assert.EqualValues(t, 260, r.Entries[0].Sequence)
	assert.EqualValues(t, 515, r.Entries[255].Sequence)
	assert.Equal(t, conversation.State{"web/0": {"count": "258", secret: ""}}, r.Base)
	state, err := conversation.Replay(r.Entries, r.Base)
	require.NoError(t, err)
	assert.Equal(t, conversation.State{"web/0": {"count": "514", secret: ""}}, state)

	assert.Len(t, half.Entries, conversation.MaxEntries)
	assert.EqualValues(t, 1, half.Entries[0].Sequence, "a record is a value")
	one, two := half.Append(commit(was, nil), isSecret), half.Append(commit(nil, was), isSecret)
	assert.NotEqual(t, one.Entries[255], two.Entries[255], "two that go on from one record do not disturb each other")
}

// A bag that has become empty is none, and a gap in the record is told.
func TestReplay(t *testing.T) {
	first, last := commit(nil, bag{"a": "1"}), commit(bag{"a": "1"}, nil)
	base := conversation.State{"db": {"b": "2"}}
	state, err := conversation.Replay([]conversation.Entry{first, last}, base)
	require.NoError(t, err)
	assert.Equal(t, conversation.State{"db": {"b": "2"}}, state)
	_, err = conversation.Replay([]conversation.Entry{first, first}, base)
	require.Error(t, err, "the second does not follow the first")
	assert.Equal(t, conversation.State{"db": {"b": "2"}}, base, "the base is left as it was")
}

// What was written is read again as it was, whatever is in it.
func TestEntriesRoundTrip(t *testing.T) {
	content := rapid.MapOfN(rapid.StringN(1, 5, -1), rapid.StringN(1, 20, -1), 0, 3)
	entry := rapid.Custom(func(t *rapid.T) conversation.Entry {
		at := conversation.Address{Relation: rapid.String().Draw(t, "relation"), Owner: rapid.SampledFrom([]string{"web", "web/0", "db.other"}).Draw(t, "owner")}
		return conversation.Entry{
			Sequence: rapid.Int64().Draw(t, "sequence"), Time: epoch().Add(time.Duration(rapid.Int64Range(0, 1<<50).Draw(t, "time"))),
			Who: rapid.String().Draw(t, "who"), Cause: rapid.String().Draw(t, "cause"),
			Change: conversation.Compare(at, content.Draw(t, "before"), content.Draw(t, "after")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(entry, 1, 4).Draw(t, "entries")
		lines, err := conversation.EncodeEntries(entries)
		require.NoError(t, err)
		require.Equal(t, len(entries), strings.Count(string(lines), "\n"), "one a line")
		again, err := conversation.ParseEntries([]byte(strings.ReplaceAll(string(lines), "\n", "\n\n")))
		require.NoError(t, err)
		require.Equal(t, entries, again)
	})
}

func TestEntriesThatAreNone(t *testing.T) {
	_, err := conversation.ParseEntries([]byte("{\"sequence\":1}\n\n{\n"))
	require.ErrorContains(t, err, "line 3")
	_, err = conversation.EncodeEntries([]conversation.Entry{{Time: epoch().AddDate(10000, 0, 0)}})
	assert.Error(t, err, "a year that JSON cannot say")
}

// FuzzParseEntries: what is read can be written, and read again as it was.
func FuzzParseEntries(f *testing.F) {
	lines, err := conversation.EncodeEntries(conversation.Record{}.Append(commit(bag{"a": "1"}, bag{"b": "2"}), isSecret).Entries)
	require.NoError(f, err)
	f.Add(lines)
	f.Add([]byte("\n{}\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		entries, err := conversation.ParseEntries(lines)
		if err != nil {
			return
		}
		_, _ = conversation.Replay(entries, conversation.State{"web": {"a": "1"}})
		written, err := conversation.EncodeEntries(entries)
		require.NoError(t, err)
		again, err := conversation.ParseEntries(written)
		require.NoError(t, err)
		rewritten, err := conversation.EncodeEntries(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
		require.Equal(t, len(entries), strings.Count(string(written), "\n"))
	})
}
