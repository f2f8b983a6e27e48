package piece_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/piece"
)

// refTo returns the reference to a content of one letter; 0 has none.
func refTo(letter byte) databag.Ref {
	if letter == 0 {
		return databag.Ref{}
	}
	return databag.RefTo(map[string]string{"k": string(letter)})
}

func refsTo(letters string) []databag.Ref {
	var all []databag.Ref
	for i := range len(letters) {
		all = append(all, refTo(letters[i]))
	}
	return all
}

// TRUST.md U2: what is sent before each of three snapshots on a stream.
func TestNext(t *testing.T) {
	tests := map[string]struct {
		why                 string
		snapshots, expected [3]string
	}{
		"FirstAll":      {"a stream begins with nothing", [3]string{"abc"}, [3]string{"abc"}},
		"OnlyTheChange": {"what the last snapshot has is not sent again", [3]string{"abc", "abd", "abd"}, [3]string{"abc", "d", ""}},
		"Once":          {"units may have the same content", [3]string{"aab", "baba"}, [3]string{"ab"}},
		"Returned":      {"what a snapshot did not have was dropped", [3]string{"ab", "a", "ab"}, [3]string{"ab", "", "b"}},
		"Empty":         {"an empty content is known by its reference", [3]string{"\x00a"}, [3]string{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var s piece.Sender
			for i, letters := range test.snapshots {
				assert.Equal(t, refsTo(test.expected[i]), s.Next(refsTo(letters)), "%s, snapshot %d", test.why, i)
			}
		})
	}
}

// exchange sends snapshots over one stream and checks that each is complete when it comes, and that nothing else is kept.
func exchange(t require.TestingT, snapshots []string) {
	var sender piece.Sender
	var receiver piece.Receiver[string]
	sent := map[databag.Ref]bool{}
	for _, letters := range snapshots {
		refs := refsTo(letters)
		for _, ref := range sender.Next(refs) {
			assert.False(t, sent[ref], "the other end has it")
			receiver.Receive(ref, ref.Version)
		}
		all, err := receiver.Complete(refs)
		require.NoError(t, err)
		clear(sent)
		for _, ref := range refs {
			if !ref.Empty() {
				sent[ref] = true
				assert.Equal(t, ref.Version, all[ref])
			}
		}
		assert.Len(t, all, len(sent))
	}
}

// TRUST.md U2: whatever the snapshots are, each has all contents when it comes.
func TestEachSnapshotIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOf(rapid.RuneFrom([]rune("\x00abcdef")))
		exchange(t, rapid.SliceOf(letters).Draw(t, "snapshots"))
	})
}

// A snapshot counts when its last piece has come, and pieces alone count for nothing (TRUST.md U2).
func TestAPieceThatIsMissing(t *testing.T) {
	var r piece.Receiver[int]
	r.Receive(refTo('a'), 1)
	_, err := r.Complete(refsTo("ab"))
	require.ErrorContains(t, err, refTo('b').Version)
	r.Receive(refTo('b'), 2)
	all, err := r.Complete(refsTo("ab"))
	require.NoError(t, err)
	assert.Equal(t, map[databag.Ref]int{refTo('a'): 1, refTo('b'): 2}, all)
}

// FuzzExchange: lines are snapshots.
func FuzzExchange(f *testing.F) {
	f.Add([]byte("abc\nabd\n\nabc"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var snapshots []string
		last := 0
		for i, c := range text {
			if c == '\n' {
				snapshots = append(snapshots, string(text[last:i]))
				last = i + 1
			}
		}
		exchange(t, append(snapshots, string(text[last:])))
	})
}
