package history_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
)

type bag = conversation.Bag

// secret is the key of a secret field.
const secret = "password"

func epoch() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// ofWeb is the bag that web/0 writes.
func ofWeb() conversation.Address {
	return conversation.ForUnit("uid-1", conversation.Unit{Application: "web"})
}

// byWeb is who writes it, and why.
func byWeb() history.Entry {
	return history.Entry{Time: epoch(), Who: "web/0", Cause: "db-relation-changed (db/0)", Address: ofWeb()}
}

// noting is a record of contents that one bag has one after the other.
func noting(contents ...bag) history.Log {
	var r history.Log
	was := bag{}
	for _, is := range contents {
		r = r.Append(byWeb(), was, is, []string{secret})
		was = is
	}
	return r
}

// linesOf is a record as people and programs read it.
func linesOf(t require.TestingT, r history.Log) string {
	lines, err := history.Encode(r.Entries)
	require.NoError(t, err)
	return string(lines)
}

// A line of the record: who, why, when, which keys, from which version to which;
// the value of a secret field is nowhere in it.
func TestRecordLine(t *testing.T) {
	e := byWeb()
	e.Term, e.Transaction = 3, "T"
	r := noting(bag{"a": "1", "b": "2", secret: "old-secret"}).Append(e, bag{"a": "1", "b": "2", secret: "old-secret"}, bag{"b": "<3>", "c": "4", secret: "new-secret"}, []string{secret})
	first, last, _ := strings.Cut(linesOf(t, r), "\n")
	assert.Equal(t, `{"sequence":1,"time":"2026-01-02T03:04:05Z","who":"web/0","cause":"db-relation-changed (db/0)","relation":"uid-1","owner":"web/0",`+
		`"added":{"a":"1","b":"2","password":""},"before":"`+r.Entries[0].Before+`","after":"`+r.Entries[0].After+`"}`, first)
	assert.Equal(t, `{"sequence":2,"time":"2026-01-02T03:04:05Z","who":"web/0","cause":"db-relation-changed (db/0)","transaction":"T","term":3,"relation":"uid-1","owner":"web/0",`+
		`"added":{"c":"4"},"changed":{"b":"<3>","password":""},"removed":["a"],"before":"`+r.Entries[0].After+`","after":"`+r.Entries[1].After+`"}`+"\n", last)

	same := r.Append(byWeb(), bag{"a": "1"}, bag{"a": "1"}, nil)
	assert.Equal(t, r, same, "what changes nothing adds nothing")
}

// Fields that become secret later lose the values that were recorded before.
func TestRecordForgetsSecrets(t *testing.T) {
	open := history.Log{}.Append(byWeb(), nil, bag{"token": "s3cr3t", "host": "a"}, nil)
	assert.Contains(t, linesOf(t, open), "s3cr3t", "nobody knew")
	closed := open.Append(byWeb(), bag{"token": "s3cr3t", "host": "a"}, bag{"token": "s3cr3t", "host": "b"}, []string{"token"})
	assert.NotContains(t, linesOf(t, closed), "s3cr3t")
	assert.Contains(t, linesOf(t, open), "s3cr3t", "a record is a value")
}

// A record keeps the last 256 commits and is itself never changed; what is left of
// it leads to what is stored, and says that it does not know the rest
// (SAFETY.md P2).
func TestRecordIsBounded(t *testing.T) {
	var r, half history.Log
	was := bag{}
	for i := range 2*history.MaxEntries + 3 {
		is := bag{"count": strconv.Itoa(i), "ever": "here"}
		r = r.Append(byWeb(), was, is, nil)
		was = is
		if i == history.MaxEntries-1 {
			half = r
		}
		require.LessOrEqual(t, len(r.Entries), history.MaxEntries)
	}
	assert.Len(t, r.Entries, history.MaxEntries)
	assert.EqualValues(t, 260, r.Entries[0].Sequence)
	assert.EqualValues(t, 515, r.Entries[255].Sequence)
	assert.EqualValues(t, 515, r.Commits)
	to, err := r.Replay(ofWeb())
	require.NoError(t, err)
	assert.Equal(t, history.Replayed{Address: ofWeb(), Commits: 515, Since: 260, Bag: bag{"count": "514"}, Version: r.Entries[255].After}, to)
	assert.Empty(t, to.Differs(was), "of the key that no entry names nothing is claimed")
	assert.NotEmpty(t, to.Differs(bag{"count": "514", "ever": "there"}), "but the version tells")

	whole, err := half.Replay(ofWeb())
	require.NoError(t, err)
	assert.True(t, whole.Whole)
	one, two := half.Append(byWeb(), bag{"count": "255", "ever": "here"}, nil, nil), half.Append(byWeb(), bag{"count": "255", "ever": "here"}, bag{}, []string{"count"})
	assert.Equal(t, "1", half.Entries[1].Changed["count"], "a record is a value")
	assert.Equal(t, "1", one.Entries[0].Changed["count"])
	assert.Empty(t, two.Entries[0].Changed["count"])
}

// Whatever is said, the record of a bag is at most so large, and a bag of its own
// largest size leaves room for it in an object (SAFETY.md P2, RELATIONS.md P6).
func TestRecordIsBoundedInBytes(t *testing.T) {
	const most = 128<<10 + 64<<10 // what is estimated, and JSON's own
	large := bag{}
	for i := range 8 {
		large["key-"+strconv.Itoa(i)] = strings.Repeat("x", 60<<10)
	}
	many := bag{}
	for i := range 40_000 {
		many[strconv.Itoa(i)] = "v"
	}
	middling := bag{}
	for i := range 100 {
		middling["key-"+strconv.Itoa(i)] = strings.Repeat("\x01", 1000)
	}
	tests := map[string]struct {
		why      string
		contents []bag
		// kept is how many entries are left, and tooLong how many keys the last names.
		kept, tooLong int
	}{
		"LongValues":  {"a value is kept up to 4 KiB", []bag{{"ca": strings.Repeat("x", 4<<10+1), "host": "a"}}, 1, 1},
		"LargeBag":    {"512 KiB leave room", []bag{large}, 1, 8},
		"ManyKeys":    {"not even the names have room: it is only counted", []bag{many}, 0, 0},
		"Escaped":     {"what takes six bytes a byte takes the record's room; the bag comes first", []bag{middling}, 1, 100},
		"OldestFirst": {"small entries after a large one go on", []bag{many, {"a": "1"}, {"a": "2"}}, 1, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := noting(tc.contents...)
			require.Len(t, r.Entries, tc.kept, tc.why)
			assert.LessOrEqual(t, len(linesOf(t, r)), most, tc.why)
			assert.EqualValues(t, len(tc.contents), r.Commits, tc.why)
			to, err := r.Replay(ofWeb())
			require.NoError(t, err)
			assert.Empty(t, to.Differs(tc.contents[len(tc.contents)-1]), tc.why)
			if tc.kept > 0 {
				assert.Len(t, r.Entries[tc.kept-1].TooLong, tc.tooLong, tc.why)
			}
		})
	}
	all, err := json.Marshal(noting(large).Entries)
	require.NoError(t, err)
	assert.Less(t, len(all)+8*60<<10, 1<<20)
}

// What a record leads to is compared with what is stored: each difference is named,
// by key and never by value, and a gap is one too.
func TestReplay(t *testing.T) {
	r := noting(bag{"a": "1", secret: "old"}, bag{"b": "2", secret: "new"})
	to, err := r.Replay(ofWeb())
	require.NoError(t, err)
	tests := map[string]struct {
		why    string
		stored bag
		want   []string
	}{
		"Same":    {"", bag{"b": "2", secret: "new"}, nil},
		"Missing": {"it was taken away", bag{secret: "new"}, []string{"b: it is not stored", "it is stored at version"}},
		"Other":   {"it was overwritten", bag{"b": "3", secret: "new"}, []string{"b: another value is stored", "it is stored at version"}},
		"More":    {"it was slipped in", bag{"b": "2", secret: "new", "c": "3"}, []string{"c: it is stored, and no entry says so", "it is stored at version"}},
		"Secret":  {"its value is not recorded, but the version knows it", bag{"b": "2", secret: "forged"}, []string{"it is stored at version"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := to.Differs(tc.stored)
			require.Len(t, got, len(tc.want), tc.why)
			for i := range got {
				assert.Contains(t, got[i], tc.want[i], tc.why)
			}
		})
	}
	r.Entries[0], r.Entries[1] = r.Entries[1], r.Entries[0]
	_, err = r.Replay(ofWeb())
	require.Error(t, err, "the second does not follow the first")

	unsaid, err := history.Log{}.Replay(ofWeb())
	require.NoError(t, err)
	assert.Empty(t, unsaid.Differs(nil))
	assert.NotEmpty(t, unsaid.Differs(bag{"a": "1"}), "nobody said so")
}

// The record of a relation is that of its bags by time, the last 256 of them; clocks
// that differ do not change the order within a bag.
func TestMerge(t *testing.T) {
	e := byWeb()
	e.Time = epoch().Add(time.Minute)
	web := history.Log{}.Append(e, nil, bag{"n": "1"}, nil)
	e.Time = epoch()
	web = web.Append(e, bag{"n": "1"}, bag{"n": "2"}, nil)
	e.Address, e.Time = conversation.ForApplication("uid-1", "db"), epoch().Add(time.Second)
	db := history.Log{}.Append(e, nil, bag{"n": "3"}, nil)
	var got []string
	for _, e := range history.Merge(web, db) {
		got = append(got, fmt.Sprintf("%s %d %s", e.Owner, e.Sequence, e.Time.Sub(epoch())))
	}
	assert.Equal(t, []string{"db 1 1s", "web/0 1 1m0s", "web/0 2 1m0s"}, got)
	assert.Len(t, history.Last(make([]history.Entry, 300)), history.MaxEntries)
	assert.Len(t, history.Last(make([]history.Entry, 3)), 3)
}

// Whatever commits one bag has, its record replays to it, over the wire as well.
func TestRecordOfOneBag(t *testing.T) {
	content := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", secret}), rapid.StringN(1, 5000, -1), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		contents := rapid.SliceOfN(content, 1, 8).Draw(t, "contents")
		r := noting(contents...)
		lines, err := history.Encode(r.Entries)
		require.NoError(t, err)
		require.Equal(t, len(r.Entries), strings.Count(string(lines), "\n"), "one a line")
		entries, err := history.Parse([]byte(strings.ReplaceAll(string(lines), "\n", "\n\n")))
		require.NoError(t, err)
		require.Equal(t, r.Entries, entries)
		to, err := r.Replay(ofWeb())
		require.NoError(t, err)
		require.Empty(t, to.Differs(contents[len(contents)-1]))
	})
}

func TestEntriesThatAreNone(t *testing.T) {
	_, err := history.Parse([]byte("{\"sequence\":1}\n\n{\n"))
	require.ErrorContains(t, err, "line 3")
	_, err = history.Encode([]history.Entry{{Time: epoch().AddDate(10000, 0, 0)}})
	assert.Error(t, err, "a year that JSON cannot say")
}

// FuzzParseEntries: what is read can be written, and read again as it was.
func FuzzParseEntries(f *testing.F) {
	f.Add([]byte(linesOf(f, noting(bag{"a": "1"}, bag{"b": "2"}))))
	f.Add([]byte("\n{}\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		entries, err := history.Parse(lines)
		if err != nil {
			return
		}
		if to, err := (history.Log{Entries: entries}).Replay(ofWeb()); err == nil {
			_ = to.Differs(bag{"a": "1"})
		}
		written, err := history.Encode(entries)
		require.NoError(t, err)
		again, err := history.Parse(written)
		require.NoError(t, err)
		rewritten, err := history.Encode(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
		require.Equal(t, len(entries), strings.Count(string(written), "\n"))
	})
}
