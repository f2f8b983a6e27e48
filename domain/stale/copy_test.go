package stale_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/stale"
)

// A copy holds no secret and no reference to one (TRUST.md A1).
func TestWithheld(t *testing.T) {
	tests := map[string]struct {
		why     string
		bag     map[string]string
		secrets []string
		want    string
	}{
		"Nothing":   {why: "there is nothing to withhold"},
		"Plain":     {why: "it is no secret", bag: map[string]string{"host": "db", "note": "a secret: none"}, secrets: []string{"password"}},
		"Reference": {why: "who has it may read the secret", bag: map[string]string{"host": "db", "user": "secret:abc"}, want: "user"},
		"Field":     {why: "the interface names it as a secret, whatever was written there", bag: map[string]string{"host": "db", "password": "x"}, secrets: []string{"password"}, want: "password"},
		"First":     {why: "the answer is the same each time", bag: map[string]string{"b": "secret:1", "a": "secret:2", "c": "secret:3"}, want: "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, stale.Withheld(test.bag, test.secrets), test.why)
		})
	}
}

func drawCopy(t *rapid.T) stale.Copy {
	return stale.Of(rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) stale.Item {
		return stale.Item{
			Relation: rapid.StringN(1, 8, -1).Draw(t, "relation"), ID: rapid.IntRange(0, 9).Draw(t, "id"), Endpoint: "db", Interface: "pg",
			Provider: rapid.String().Draw(t, "provider"), Data: rapid.MapOfN(rapid.String(), rapid.String(), 1, 3).Draw(t, "data"),
		}
	}), 0, 4, func(i stale.Item) string { return i.Relation }).Draw(t, "items"))
}

// What is stored is read again, equal copies have equal texts, and an agent sees each relation complete with its data.
func TestCopyIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCopy(t)
		text, err := c.Text()
		require.NoError(t, err)
		read, err := stale.Parse(text)
		require.NoError(t, err)
		require.True(t, read.Equal(c))
		shuffled, err := stale.Of(rapid.Permutation(c.Items).Draw(t, "order")).Text()
		require.NoError(t, err)
		assert.Equal(t, text, shuffled)
		view := read.View()
		require.Len(t, view.Relations, len(c.Items))
		for i, r := range view.Relations {
			assert.True(t, r.Complete && read.Holds(r.UID))
			assert.Equal(t, c.Items[i].Data, view.Bag(r.RemoteBag))
			assert.Empty(t, r.Granted.ID)
		}
		other := drawCopy(t)
		otherText, err := other.Text()
		require.NoError(t, err)
		assert.Equal(t, c.Equal(other), text == otherText)
	})
}

// The size of a copy is that of its text as Kubernetes encodes it, so that what does not fit is not written.
func TestSize(t *testing.T) {
	of := func(data string) stale.Copy {
		return stale.Of([]stale.Item{{Relation: "r", ID: 1, Endpoint: "db", Data: map[string]string{"k": data}}})
	}
	assert.Zero(t, stale.Copy{}.Size())
	assert.LessOrEqual(t, of(strings.Repeat("v", 800<<10)).Size(), stale.MaxStored)
	large := of(strings.Repeat("v", 900<<10))
	assert.Greater(t, large.Size(), stale.MaxStored)
	assert.Greater(t, of(strings.Repeat("\"", 300<<10)).Size(), stale.MaxStored, "what is quoted twice is longer than it looks")
	text, err := large.Text()
	require.NoError(t, err)
	encoded, err := json.Marshal(text)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, large.Size(), len(encoded))
}

// Users who may write ConfigMaps write what an agent reads: nothing of it ends the agent.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "{}", `{"relations":[{"relation":"r","id":1,"endpoint":"db","data":{"host":"h"}}]}`, `{"relations":[null]}`, "[]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := stale.Parse(text)
		if err != nil {
			assert.True(t, c.Empty())
			return
		}
		written, err := c.Text()
		require.NoError(t, err)
		again, err := stale.Parse(written)
		require.NoError(t, err)
		assert.Len(t, c.View().Relations, len(c.Items))
		assert.True(t, slices.EqualFunc(c.Items, again.Items, func(a, b stale.Item) bool { return a.ID == b.ID }))
	})
}
