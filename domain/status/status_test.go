package status_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// What is stored is one of Juju's words, with texts that anybody's terminal can show
// and that many of fit into one object (RELATIONS.md L3).
func TestCheck(t *testing.T) {
	long := strings.Repeat("m", 1025)
	tests := map[string]struct {
		why  string
		in   status.Info
		want status.Info
		err  string
	}{
		"Whole": {
			why:  "all that may be said",
			in:   status.Info{State: status.Blocked, Message: "no database of that name", Code: "NoDatabase", Resolution: "ask for one of: a, b"},
			want: status.Info{State: status.Blocked, Message: "no database of that name", Code: "NoDatabase", Resolution: "ask for one of: a, b"},
		},
		"Bare":        {why: "a state is enough", in: status.Info{State: status.Active}, want: status.Info{State: status.Active}},
		"Tidied":      {why: "one line, no colours, no bells", in: status.Info{State: status.Waiting, Message: " a\x1b[31m\n\tb\a\xff "}, want: status.Info{State: status.Waiting, Message: "a [31m b"}},
		"Unknown":     {why: "unknown is what nobody says", in: status.Info{State: status.Unknown}, err: `status: "unknown" is none; write one of maintenance, blocked, waiting, active`},
		"Nothing":     {why: "a state is needed", err: `status: "" is none; write one of maintenance, blocked, waiting, active`},
		"Sentence":    {why: "a code is for programs", in: status.Info{State: status.Active, Code: "no database"}, err: `code: "no database" is not one word; write letters and digits, for example NoDatabase`},
		"LongCode":    {why: "and short", in: status.Info{State: status.Active, Code: strings.Repeat("c", 65)}, err: `code: "` + strings.Repeat("c", 65) + `" is not one word; write letters and digits, for example NoDatabase`},
		"Long":        {why: "a hundred must fit into one object", in: status.Info{State: status.Active, Message: long}, err: "message: it has 1025 bytes, and 1024 are the most; write less"},
		"LongToo":     {why: "the same", in: status.Info{State: status.Active, Resolution: long}, err: "resolution: it has 1025 bytes, and 1024 are the most; write less"},
		"AsLongAsMay": {why: "the limit itself is allowed", in: status.Info{State: status.Active, Message: long[1:]}, want: status.Info{State: status.Active, Message: long[1:]}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.in.Check()
			if test.err != "" {
				require.EqualError(t, err, test.err, test.why)
				return
			}
			require.NoError(t, err, test.why)
			assert.Equal(t, test.want, got, test.why)
		})
	}
}

func TestReasonAndText(t *testing.T) {
	for info, want := range map[status.Info][2]string{
		{State: status.Blocked}:                                       {"Blocked", "blocked"},
		{State: status.Active, Message: "serving"}:                    {"Active", "serving"},
		{State: status.Blocked, Code: "NoDatabase", Message: "none"}:  {"NoDatabase", "none"},
		{State: status.Blocked, Message: "none", Resolution: "ask a"}: {"Blocked", "none; ask a"},
		{}: {"", ""},
	} {
		assert.Equal(t, want, [2]string{info.Reason(), info.Text()})
	}
}

// The same said again is no change (RELATIONS.md P3).
func TestSame(t *testing.T) {
	said := status.Info{State: status.Active, Message: "m", Since: time.Unix(1, 0)}
	assert.True(t, said.Same(status.Info{State: status.Active, Message: "m", Since: time.Unix(2, 0)}))
	assert.False(t, said.Same(status.Info{State: status.Active, Since: time.Unix(1, 0)}))
	assert.False(t, status.Info{}.Said())
	assert.True(t, said.Said())
}

// Of several units that which needs most care speaks for the application, as Juju
// has it.
func TestWorst(t *testing.T) {
	units := func(states ...status.State) (all []status.Info) {
		for i, s := range states {
			all = append(all, status.Info{State: s, Message: string(rune('a' + i))})
		}
		return all
	}
	assert.Equal(t, "c", status.Worst(units(status.Active, status.Waiting, status.Maintenance)).Message, "busy with itself before busy with others")
	assert.Equal(t, "b", status.Worst(units(status.Maintenance, status.Blocked, status.Blocked)).Message, "the first of several")
	assert.Equal(t, "b", status.Worst(units("", status.Active)).Message, "who says nothing hides nobody")
	assert.False(t, status.Worst(nil).Said())
}

// The controller hears of the first failure and then less and less often.
func TestTells(t *testing.T) {
	var told []int
	for attempts := range 300 {
		if status.Tells(attempts) {
			told = append(told, attempts)
		}
	}
	assert.Equal(t, []int{1, 2, 4, 8, 16, 32, 64, 128, 256}, told)
	assert.False(t, status.Tells(-1))
}

// The same event fails since the same time, whatever it says last.
func TestFailureFollows(t *testing.T) {
	first := status.Failure{Event: "db-relation-changed (pg/0)", Relation: "r", Attempts: 1, Said: "exit code 4"}.Follows(status.Failure{}, time.Unix(100, 5))
	assert.Equal(t, time.Unix(100, 0).UTC(), first.Since)
	again := status.Failure{Event: first.Event, Relation: "r", Attempts: 2, Said: "exit code 5"}.Follows(first, time.Unix(200, 0))
	assert.Equal(t, first.Since, again.Since)
	other := status.Failure{Event: first.Event, Relation: "r2", Attempts: 1}.Follows(first, time.Unix(200, 0))
	assert.Equal(t, time.Unix(200, 0).UTC(), other.Since, "of another relation")
	assert.Equal(t, "web/0 has failed to handle db-relation-changed (pg/0) since 1970-01-01T00:01:40Z: exit code 4; it is retried, see kubectl -n shop logs web-1 --all-containers", first.Text("shop", "web/0", "web-1"))
	assert.True(t, first.IsNews(status.Failure{}))
	assert.True(t, again.IsNews(first), "it says something else")
	again.Said = first.Said
	assert.False(t, again.IsNews(first), "it has failed again, and that is all")
	assert.False(t, status.Failure{}.IsNews(first), "an Event tells of trouble only")
	assert.True(t, first.Fails())
	assert.False(t, status.Failure{}.Fails())
}

// Whatever an agent sends is bounded before it is stored.
func TestBounded(t *testing.T) {
	f := status.Failure{Event: strings.Repeat("e", 999), Said: strings.Repeat("ä", 999), Attempts: -3}.Bounded()
	assert.Len(t, f.Event, 256)
	assert.LessOrEqual(t, len(f.Said), 512)
	assert.Equal(t, 1, f.Attempts)
	assert.Equal(t, f, f.Bounded(), "twice is once")
}

// The values of secrets that a handler has read or made are not told to everybody
// who may read Events (RELATIONS.md P5).
func TestLastWordsHide(t *testing.T) {
	assert.Equal(t, "psql: password [secret] is wrong", status.LastWords("psql:\npassword hunter2 is wrong\n", "hunter2", "is"))
	assert.Equal(t, "[secret] [secret] end", status.LastWords("first line\nsecond line\nend", "first line\nsecond line\n"))
	assert.Equal(t, "…"+strings.Repeat("x", 509), status.LastWords("hunter2"+strings.Repeat("x", 900), "hunter2"))
}

// What hides one value leaves nothing of another, whatever their order, and bytes that are no text hide no part of one
// (TRUST.md R5).
func TestLastWordsHideWhole(t *testing.T) {
	said := "password admin-s3cr3t-0815 of admin is wrong"
	assert.Equal(t, "password [secret] of [secret] is wrong", status.LastWords(said, "admin", "admin-s3cr3t-0815"))
	assert.Equal(t, "password [secret] of [secret] is wrong", status.LastWords(said, "admin-s3cr3t-0815", "admin"))
	assert.Equal(t, "key [secret]", status.LastWords(strings.ToValidUTF8("key caf\xe9-au-lait", ""), "caf\xe9-au-lait"))
}

// Where a text was cut, parts of what is secret are hidden too: words at its start or end (TRUST.md R5).
func TestLastWordsHideParts(t *testing.T) {
	const phrase = "correct horse battery staple"
	tests := map[string]struct{ said, want string }{
		"Start":    {"exit code 3: …battery staple is wrong", "exit code 3: …[secret] is wrong"},
		"Middle":   {"exit code 3: …horse battery", "exit code 3: …[secret]"},
		"End":      {"the answer is 500: correct horse…", "the answer is 500: [secret]…"},
		"Spaces":   {"the answer is 500: correct …", "the answer is 500: [secret]…"},
		"Whole":    {"…" + phrase + " is wrong", "…[secret] is wrong"},
		"Other":    {"exit code 3: …the battery is empty", "exit code 3: …the battery is empty"},
		"NotCut":   {"battery staple", "battery staple"},
		"WithinIt": {"exit code 3: …attery staple", "exit code 3: …attery staple"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, status.LastWords(test.said, "other", phrase))
		})
	}
	assert.Equal(t, "it is [secret]", status.LastWords("it is a long phrase", "a long  phrase"), "spaces too")
}

// FuzzLastWords: whatever a handler writes becomes one short line of text without
// the secret.
func FuzzLastWords(f *testing.F) {
	f.Add("cannot connect\n", "hunter2")
	f.Add("a\x00b\xffhunter2\u202e", "hunter2")
	f.Add(strings.Repeat("ä", 600), "ää")
	f.Fuzz(func(t *testing.T, text, secret string) {
		got := status.LastWords(text, secret)
		assert.LessOrEqual(t, len(got), 512)
		assert.True(t, utf8.ValidString(got))
		assert.NotContains(t, got, "\n")
		assert.Equal(t, got, status.LastWords(got), "twice is once")
	})
}
