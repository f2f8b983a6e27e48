package library_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/health/library"
)

func TestParseCase(t *testing.T) {
	c, err := library.ParseCase("a.yaml", []byte("want: Ready\ndefinition: {status: false}\nobject: {kind: Engine}\n"))
	require.NoError(t, err)
	assert.Equal(t, "Ready", c.Want)
	assert.False(t, *c.Definition.Status)
	for text, want := range map[string]string{
		"wants: Ready\nobject: {}\n": "cannot read case a.yaml: yaml: unmarshal errors:\n  line 1: field wants not found",
		"want: Ready\n":              "it needs object, as kubectl get -o yaml prints it",
		"object: {kind: Engine}\n":   "and want, the state: Ready, InProgress",
		"":                           "cannot read case a.yaml: EOF",
	} {
		_, err := library.ParseCase("a.yaml", []byte(text))
		assert.ErrorContains(t, err, want)
	}
}

// A case holds its object as the API server returns it: whole numbers, and times as texts.
func TestParseCaseAsTheServerReturnsIt(t *testing.T) {
	c, err := library.ParseCase("a.yaml", []byte("want: Ready\nobject: {status: {observedGeneration: 1, ratio: 0.5, at: 2026-11-27T11:00:00Z, all: [2]}}\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"observedGeneration": int64(1), "ratio": 0.5, "at": "2026-11-27T11:00:00Z", "all": []any{int64(2)}}, c.Object["status"])
}

// Any text is a case or an error.
func FuzzParseCase(f *testing.F) {
	f.Add([]byte("want: Ready\nobject: {kind: Engine}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := library.ParseCase("a.yaml", text); err == nil {
			assert.NotNil(t, c.Object)
		}
	})
}
