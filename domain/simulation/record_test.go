package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
)

// The check of records finds what a record does not say. A checker that cannot fail
// proves nothing.
func TestReplayCanFail(t *testing.T) {
	s, err := Parse("f", []byte(`apply shop.yaml
run web/0: relation-set -r store:1 path=/a
-- shop.yaml --
StatefulSet db: {provides: "main:pg", tools: true}
StatefulSet web: {consumes: "store:pg", relations: db, tools: true}
`))
	require.NoError(t, err)
	w := newWorld(s, nil)
	for _, step := range s.steps {
		require.NoError(t, step.verb.do(w, step))
	}
	require.NoError(t, w.replays())
	for name, b := range w.databags {
		if b.Unit != "" {
			b.Data = with(b.Data, "path", "/b")
			w.databags[name] = b
		}
	}
	assert.ErrorIs(t, w.replays(), errReplay)
	for name, b := range w.databags {
		b.record = history.Log{}
		w.databags[name] = b
	}
	assert.ErrorIs(t, w.replays(), errReplay)
}
