package chunk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// sink keeps chunks, and refuses another chunk of a number that it has.
type sink struct {
	chunks []chunk.Chunk
	// down refuses chunks, lost keeps them and loses the answer.
	down, lost bool
}

var errDown = errors.New("the sink is down")

func (s *sink) Write(_ context.Context, c chunk.Chunk) error {
	if s.down {
		return errDown
	}
	c.Content = bytes.Clone(c.Content)
	switch n := int64(len(s.chunks)); {
	case c.Number == n+1:
		s.chunks = append(s.chunks, c)
	case c.Number < 1 || c.Number > n+1:
		return fmt.Errorf("chunk %d comes after %d", c.Number, n)
	default:
		if old := s.chunks[c.Number-1]; old.Position != c.Position || old.Missing != c.Missing || !bytes.Equal(old.Content, c.Content) {
			return fmt.Errorf("chunk %d is another one", c.Number)
		}
	}
	if s.lost {
		return errDown
	}
	return nil
}

// text joins the chunks; a hole reads as [n].
func (s *sink) text() string {
	var all strings.Builder
	for _, c := range s.chunks {
		if c.Missing > 0 {
			fmt.Fprintf(&all, "[%d]", c.Missing)
		}
		all.Write(c.Content)
	}
	return all.String()
}

func folder(t require.TestingT, base string) string {
	name, err := os.MkdirTemp(base, "chunk")
	require.NoError(t, err)
	return name
}

// JOBS.md J11: whatever fails or is started again in between, the chunks are the output, each byte once, and the holes
// are those where there was no room.
func TestCarryProperty(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		output, scratch := folder(t, base), folder(t, base)
		stream := &exchange.Stream{Folder: output, Name: "stdout", Segment: 8, Limit: 32}
		s := &sink{}
		var written strings.Builder
		carry := func() bool {
			// A carrier that is made anew is one that was started again.
			c := chunk.Carrier{Output: output, Stream: "stdout", Scratch: scratch, Sink: s, Size: 5}
			carried, err := c.Carry(context.Background())
			if err != nil {
				require.ErrorIs(t, err, errDown)
			}
			return carried
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				text := strings.Repeat(string(rune('a'+written.Len()%26)), rapid.IntRange(1, 11).Draw(t, "bytes"))
				_, err := stream.Write([]byte(text))
				require.NoError(t, err)
				written.WriteString(text)
			case 2:
				carry()
			case 3:
				s.down = rapid.Bool().Draw(t, "down")
			case 4:
				s.lost = rapid.Bool().Draw(t, "lost")
			}
		}
		require.NoError(t, stream.Close())
		s.down, s.lost = false, false
		for carry() {
			continue
		}
		position := int64(0)
		for _, c := range s.chunks {
			require.Equal(t, position+c.Missing, c.Position, "no hole that is not recorded")
			position = c.Position + int64(len(c.Content))
			require.Equal(t, written.String()[c.Position:position], string(c.Content))
		}
		require.Equal(t, int64(written.Len()), position, "a hole at the end is recorded too")
	})
}

// JOBS.md J11: the spool is bounded, and has room again when chunks are carried.
func TestCarry(t *testing.T) {
	output, scratch := t.TempDir(), t.TempDir()
	stream := &exchange.Stream{Folder: output, Name: "stdout", Segment: 4, Limit: 8}
	s := &sink{down: true}
	c := chunk.Carrier{Output: output, Stream: "stdout", Scratch: scratch, Sink: s, Size: 3}
	write := func(text string) {
		_, err := stream.Write([]byte(text))
		require.NoError(t, err)
	}
	write("abcdefghij")
	_, err := c.Carry(t.Context())
	require.ErrorContains(t, err, "cannot carry stdout away: the sink is down")
	s.down = false
	for {
		carried, err := c.Carry(t.Context())
		require.NoError(t, err)
		if !carried {
			break
		}
	}
	assert.Equal(t, "abcdefgh", s.text())
	write("kl")
	carried, err := c.Carry(t.Context())
	require.NoError(t, err)
	assert.True(t, carried)
	assert.Equal(t, "abcdefgh[2]kl", s.text())
	s.lost = true
	write("m")
	_, err = c.Carry(t.Context())
	require.ErrorIs(t, err, errDown)
	s.lost = false
	write("n")
	for range 2 {
		carried, err = c.Carry(t.Context())
		require.NoError(t, err, "the chunk whose answer was lost is written as it was")
		assert.True(t, carried)
	}
	assert.Equal(t, "abcdefgh[2]klmn", s.text())
	left, err := exchange.Segments(output, "stdout")
	require.NoError(t, err)
	assert.Len(t, left, 1, "what is carried is removed but for the last one")
	for range 2 {
		require.NoError(t, c.End(t.Context()))
	}
	last := s.chunks[len(s.chunks)-1]
	assert.True(t, last.Last)
	assert.Equal(t, int64(len("abcdefgh..klmn")), last.Position)
	none := chunk.Carrier{Output: output + "/none", Stream: "stdout", Scratch: scratch, Sink: s, Size: 3}
	carried, err = none.Carry(t.Context())
	require.NoError(t, err)
	assert.False(t, carried, "nothing was started yet")
}

// JOBS-DESIGN.md 9 and 13: a template may write into the exchange folder, and the keeper of a node can read what is of other
// runs: no link has that stored as output, or removed.
func TestCarryLinks(t *testing.T) {
	const first = "stdout.0000000000000000000"
	other := t.TempDir()
	victim := filepath.Join(other, first)
	require.NoError(t, os.WriteFile(victim, bytes.Repeat([]byte("secret "), 1000), 0o600))
	last := filepath.Join(other, "stdout.0000000000000007000")
	require.NoError(t, os.WriteFile(last, []byte("secret"), 0o600))
	for name, plant := range map[string]func(output string){
		"file": func(output string) {
			require.NoError(t, errors.Join(os.Mkdir(output, 0o700), os.Symlink(victim, output+"/"+first)))
		},
		"folder": func(output string) { require.NoError(t, os.Symlink(other, output)) },
	} {
		output := filepath.Join(t.TempDir(), "output")
		plant(output)
		s := &sink{}
		c := chunk.Carrier{Output: output, Stream: "stdout", Scratch: t.TempDir(), Sink: s, Size: 1 << 20}
		for range 3 {
			_, _ = c.Carry(t.Context()) // an error is as good
		}
		assert.Empty(t, s.text(), name)
		assert.FileExists(t, victim, name)
	}
}
