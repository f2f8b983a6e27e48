package chaos_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// What the journal accepts, and what it finds.
func TestJournal(t *testing.T) {
	tests := map[string]struct {
		why    string
		report func(*chaos.Journal)
		want   []string
	}{
		"InOrder": {
			why: "readers may lag and skip, also over writes without an answer",
			report: func(j *chaos.Journal) {
				j.Attempt("a|0")
				j.Acknowledged("a|0")
				j.Attempt("a|0")
				j.Read("reader", "a|0#1", "a|")
				j.Read("reader", "a|0#2", "a|")
				j.Read("other", "a|0#1", "a|")
			},
		},
		"Backwards": {
			why: "a reader never loses what it has read",
			report: func(j *chaos.Journal) {
				j.Attempt("a|0")
				j.Attempt("a|0")
				j.Read("reader", "a|0#2", "a|")
				j.Read("reader", "a|0#1", "a|")
			},
			want: []string{`reader read "a|0#1" after 2`},
		},
		"Restored": {
			why: "a restored store takes its readers back once",
			report: func(j *chaos.Journal) {
				j.Attempt("a|0")
				j.Attempt("a|0")
				j.Read("reader", "a|0#2", "a|")
				j.Restore()
				j.Read("reader", "a|0#1", "a|")
				j.Restored()
				j.Read("reader", "a|0#1", "a|")
				j.Read("reader", "a|0#2", "a|")
				j.Read("reader", "a|0#1", "a|")
			},
			want: []string{`reader read "a|0#1" after 2`},
		},
		"NeverWritten": {
			why:    "a value comes from its writer",
			report: func(j *chaos.Journal) { j.Read("reader", "a|0#1", "a|"); j.Read("reader", "half", "a|") },
			want:   []string{`reader read "a|0#1", which was never written`, `reader read "half", which was never written`},
		},
		"AnotherTenant": {
			why:    "a tenant reads its own",
			report: func(j *chaos.Journal) { j.Attempt("b|0"); j.Read("reader", "b|0#1", "a|") },
			want:   []string{`reader read "b|0#1", which is of another tenant: it may read "a|"`},
		},
		"Ended": {
			why: "another unit may still handle what came before the end",
			report: func(j *chaos.Journal) {
				j.Told("db", "db/0", "r")
				j.Ends("r")
				j.Broken("db", "db/0", "r")
				j.Told("db", "db/1", "r")
				j.Broken("db", "db/1", "r")
			},
		},
		"EndOfLiving": {
			why:    "data of a relation that lives is never removed",
			report: func(j *chaos.Journal) { j.Told("db", "db/0", "r"); j.Broken("db", "db/0", "r") },
			want:   []string{"db/0 was told of the end of relation r, which lives"},
		},
		"AfterTheEnd": {
			why: "broken is the last event of a relation",
			report: func(j *chaos.Journal) {
				j.Ends("r")
				j.Broken("db", "db/0", "r")
				j.Told("db", "db/0", "r")
			},
			want: []string{"db/0 was told of relation r after its end"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j := chaos.NewJournal()
			test.report(j)
			assert.Equal(t, test.want, j.Faults(), test.why)
		})
	}
}

// What is owed and expected in the end.
func TestJournalExpects(t *testing.T) {
	j := chaos.NewJournal()
	assert.Empty(t, j.Expect("a|0"))
	assert.Equal(t, "a|0#1", j.Attempt("a|0"))
	assert.Empty(t, j.Expect("a|0"), "it was not acknowledged")
	assert.Equal(t, "a|0#2", j.Attempt("a|0"))
	j.Acknowledged("a|0")
	assert.Equal(t, "a|0#2", j.Expect("a|0"))
	assert.Equal(t, 2, j.Writes())

	j.Told("db", "db/0", "r")
	j.Told("web", "web/0", "r")
	assert.Empty(t, j.Owed(), "it lives")
	j.Ends("r")
	assert.Equal(t, []string{"db r", "web r"}, j.Owed())
	j.Broken("db", "db/0", "r")
	assert.Equal(t, []string{"web r"}, j.Owed())
	assert.Equal(t, 1, j.Heard())
}
