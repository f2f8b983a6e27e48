package chaos_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// What a lineage accepts, and what it finds.
func TestLineage(t *testing.T) {
	first, second := "a begins 0\na writes 1\na wrote 1\n", "b begins 4\nb writes 1\nb wrote 1\nb writes 2\n"
	a := chaos.End{Run: "a", Outcome: "Committed", Generation: 1, State: "a 1\n"}
	torn := "a 1\nb 1\n"
	tests := map[string]struct {
		why, journal string
		ends         []chaos.End
		want         []string
	}{
		"InOrder": {
			why: "a killed program may have written the line that it was about to note, or not", journal: first + second,
			ends: []chaos.End{a, {Run: "b", Outcome: "Committed", Generation: 2, State: "a 1\nb 1\nb 2\n"}},
		},
		"Lost": {
			why: "what a run wrote before its commit is in it", journal: first,
			ends: []chaos.End{{Run: "a", Outcome: "Committed", Generation: 1}},
			want: []string{"a (Committed) has 0 lines in the state, and wrote 1 to 1: a lost commit"},
		},
		"Accepted": {
			why: "but a person may accept a checkpoint from before", journal: first,
			ends: []chaos.End{{Run: "a", Outcome: "Committed", Generation: 1, Accepted: true}},
		},
		"Invented": {
			why: "which has nothing that the run did not write", journal: first,
			ends: []chaos.End{{Run: "a", Outcome: "Committed", Generation: 1, State: "a 1\na 2\n", Accepted: true}},
			want: []string{"a (Committed) has 2 lines in the state, and wrote 1 to 1: a lost commit"},
		},
		"Uncommitted": {
			why: "an end that is shown as a commit is one", journal: first,
			ends: []chaos.End{{Run: "a", Outcome: "Committed"}},
			want: []string{"a (Committed) has 0 lines in the state, and wrote 1 to 1: a lost commit"},
		},
		"Twice": {
			why: "a run makes one generation", journal: first,
			ends: []chaos.End{{Run: "a", Outcome: "Committed", Generation: 2, State: "a 1\n"}},
			want: []string{"a (Committed) leaves generation 2 after 0"},
		},
		"Repeated": {
			why: "no line is there twice", journal: first,
			ends: []chaos.End{{Run: "a", Outcome: "Committed", Generation: 1, State: "a 1\na 1\n"}},
			want: []string{`a (Committed) leaves a state that is not the one before and its own lines: "a 1\na 1\n" after ""`},
		},
		"Forgotten": {
			why: "a later run begins from the commit before it", journal: first + "b begins 0\n",
			ends: []chaos.End{a, {Run: "b", Outcome: "Unchanged", Generation: 1, State: "a 1\n"}},
			want: []string{"b found a state of 0 bytes, and not that of generation 1 with 4"},
		},
		"Together": {
			why: "two programs never run at once", journal: "a begins 0\nb begins 0\na writes 1\na wrote 1\n",
			ends: []chaos.End{a}, want: []string{"a goes on after b has begun"},
		},
		"Replaced": {
			why: "a generation never changes", journal: first,
			ends: []chaos.End{a, {Run: "b", Outcome: "Unknown", Generation: 1, State: torn}},
			want: []string{"b (Unknown) changed generation 1"},
		},
		"Dropped": {
			why: "an archive of a run whose end is not known is kept", journal: first + second,
			ends: []chaos.End{a, {Run: "b", Outcome: "Unknown", Generation: 1, State: "a 1\n", Stored: &torn}},
			want: []string{`b (Unknown) stored "a 1\nb 1\n", of the 1 lines that it wrote, and nothing names it`},
		},
		"Kept": {
			why: "as an orphan it is", journal: first + second,
			ends: []chaos.End{a, {Run: "b", Outcome: "Unknown", Generation: 1, State: "a 1\n", Stored: &torn, Kept: []string{torn}}},
		},
		"NeverRan": {
			why: "a run without an outcome did nothing", journal: first,
			ends: []chaos.End{{Run: "a", Outcome: "None"}},
			want: []string{"a (None) wrote 1 lines, and made 0 generations"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, chaos.Lineage{Journal: tc.journal, Ends: tc.ends}.Faults(), tc.why)
		})
	}
}

// A log may have holes and may be cut off; both show.
func TestLog(t *testing.T) {
	whole := []chaos.Piece{{Content: "a 1\na "}, {Content: "2\n"}}
	assert.Empty(t, chaos.Log{Run: "a", Pieces: whole, Ended: true}.Fault(2))
	assert.Empty(t, chaos.Log{Run: "a", Pieces: whole, Ended: true}.Fault(1), "a line may be written before it is noted")
	assert.Empty(t, chaos.Log{Run: "a", Pieces: whole[:1]}.Fault(2), "it shows as cut off")
	assert.Empty(t, chaos.Log{Run: "a", Pieces: []chaos.Piece{{Missing: 4, Content: "a 2\n"}}, Ended: true}.Fault(2))
	assert.Equal(t, "the log of a ends at 6 of 8 bytes, and no hole is recorded", chaos.Log{Run: "a", Pieces: whole[:1], Ended: true}.Fault(2))
	assert.Equal(t, `the log of a has "2\n" at 0`, chaos.Log{Run: "a", Pieces: whole[1:]}.Fault(2))
}

// Whatever part of its writes a killed run noted, the state that it left is accepted, and one line less than noted is not.
func TestLineageOfPrefixes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wrote, more := rapid.IntRange(1, 9).Draw(t, "wrote"), rapid.IntRange(0, 1).Draw(t, "more")
		state := chaos.Lines("a", wrote+more)
		l := chaos.Lineage{Journal: "a begins 0\n" + fmt.Sprintf("a writes %d\na wrote %d\n", wrote+more, wrote), Ends: []chaos.End{{Run: "a", Outcome: "Committed", Generation: 1, State: state}}}
		assert.Empty(t, l.Faults())
		l.Ends[0].State = chaos.Lines("a", wrote-1)
		assert.NotEmpty(t, l.Faults())
	})
}
