package condition

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TRUST.md U5: a text fits its field, and no character is divided.
func TestCut(t *testing.T) {
	tests := map[string]struct {
		why, text string
		most      int
		want      string
	}{
		"Fits":  {why: "nothing is cut", text: "12345", most: 5, want: "12345"},
		"Long":  {why: "the end is marked", text: "123456", most: 5, want: "12…"},
		"Wide":  {why: "two bytes a character", text: "ééééé", most: 8, want: "éé…"},
		"Wider": {why: "the mark alone", text: "€€€", most: 5, want: "…"},
		"Empty": {why: "nothing to cut", most: 3, want: ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, Cut(test.text, test.most), test.why) })
	}
	rapid.Check(t, func(t *rapid.T) {
		text, most := rapid.String().Draw(t, "text"), rapid.IntRange(3, 40).Draw(t, "most")
		got := Cut(text, most)
		assert.LessOrEqual(t, len(got), most)
		assert.True(t, utf8.ValidString(got))
		assert.True(t, strings.HasPrefix(text, strings.TrimSuffix(got, ellipsis)))
	})
}

// Errors that are joined are told apart on one line, as tables show it.
func TestLine(t *testing.T) {
	joined := errors.Join(errors.New("a is unknown"), errors.New("b does not fit"))
	assert.Equal(t, "a is unknown; b does not fit", Line(joined.Error()))
	assert.Equal(t, "cannot render: no such file: try again", Line("cannot render:\n  no such file: try again\n"))
	assert.Equal(t, "as it is ", Line("as it is "))
	assert.Equal(t, "a; b", New(Stalled, true, "Failed", "a\nb").Message)
}

func TestCutList(t *testing.T) {
	assert.Equal(t, []string{"a", "b"}, CutList([]string{"a", "b"}, 2))
	all := []string{"a", "b", "c", "d"}
	assert.Equal(t, []string{"a", "… and 3 more"}, CutList(all, 2))
	assert.Equal(t, []string{"a", "b", "c", "d"}, all, "what may be shared is not changed")
	assert.Empty(t, CutList(nil, 2))
}

// TRUST.md U5: a message of any length fits a condition.
func TestConditionsFit(t *testing.T) {
	for _, c := range Stuck("Failed", strings.Repeat("ü", 1<<20)) {
		assert.LessOrEqual(t, len(c.Message), MaxMessage)
		if c.Type == Stalled {
			assert.True(t, strings.HasSuffix(c.Message, "ü…"))
		}
	}
}
