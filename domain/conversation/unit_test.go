package conversation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// A unit is written in one way only, and its number decides the order: a/2 comes
// before a/10 (RELATIONS.md E3).
func TestUnit(t *testing.T) {
	assert.Negative(t, unit("a/2").Compare(unit("a/10")))
	assert.Positive(t, unit("b/0").Compare(unit("a/10")))
	assert.Zero(t, unit("a/2").Compare(unit("a/2")))
}

func TestParseUnit(t *testing.T) {
	for text, want := range map[string]conversation.Unit{
		"web/0":        {Application: "web"},
		"web.other/12": {Application: "web.other", Number: 12},
	} {
		got, err := conversation.ParseUnit(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", "web", "web/", "/0", "web/-1", "web/+1", "web/01", "web/x", "web/1/2", "web/99999999999999999999"} {
		_, err := conversation.ParseUnit(text)
		assert.Error(t, err, text)
	}
}

// FuzzParseUnit: what is read is written as it was.
func FuzzParseUnit(f *testing.F) {
	f.Add("web/0")
	f.Add("web.other/10")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := conversation.ParseUnit(text)
		if err != nil {
			return
		}
		require.Equal(t, text, u.String())
		got, is := conversation.ForUnit("uid", u).Unit()
		require.True(t, is)
		require.Equal(t, u, got)
	})
}
