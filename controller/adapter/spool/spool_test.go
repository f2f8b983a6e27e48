package spool

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// newSpool returns a spool in a folder that has room for 100 bytes in memory and loses nothing.
func newSpool(t *testing.T, folder string) *Spool {
	t.Helper()
	return New(folder, 100, func(err error) { panic(err) })
}

// bagOf returns a bag of so many bytes.
func bagOf(letter string, size int) map[string]string {
	return map[string]string{"k": strings.Repeat(letter, size-1)}
}

func keep(t *testing.T, s *Spool, bag map[string]string) *Content {
	t.Helper()
	c, err := s.Keep(databag.RefTo(bag), bag)
	require.NoError(t, err)
	return c
}

func files(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TRUST.md U2: memory has what fits in its room, files have the rest, and each content is as it was.
func TestWhatIsOverTheLimitIsInFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bags")
	s := newSpool(t, folder)
	small, large, last := bagOf("a", 60), bagOf("b", 500), bagOf("c", 40)
	kept := []*Content{keep(t, s, small), keep(t, s, large), keep(t, s, last)}
	assert.Equal(t, []string{databag.Version(large)}, files(t, folder))
	for i, bag := range []map[string]string{small, large, last} {
		assert.Equal(t, bag, kept[i].Bag())
	}
	assert.Same(t, kept[1], keep(t, s, large), "an equal content is kept once")
	runtime.KeepAlive(kept)
}

// What nothing refers to any more leaves memory and disk, also if an equal content was kept and left before.
func TestWhatNothingRefersToGoes(t *testing.T) {
	folder := t.TempDir()
	s := newSpool(t, folder)
	for range 3 {
		large, small := keep(t, s, bagOf("b", 500)), keep(t, s, bagOf("a", 60))
		assert.Len(t, files(t, folder), 1)
		runtime.GC()
		assert.Equal(t, bagOf("b", 500), large.Bag())
		runtime.KeepAlive(small)
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(files(t, folder)) == 0 && s.room == 100 && len(s.contents) == 0
	}, 10*time.Second, time.Millisecond)
}

// A content in memory may be in a file too, for the next process. The file goes with it.
func TestAStoredContentOutlivesTheProcess(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bags")
	s := newSpool(t, folder)
	small := keep(t, s, bagOf("a", 60))
	for range 2 {
		require.NoError(t, s.Store(small))
		assert.Equal(t, []string{small.ref.Version}, files(t, folder))
	}
	assert.False(t, small.InFile())
	recalled, is := newSpool(t, folder).Recall(small.ref)
	require.True(t, is)
	assert.Equal(t, small.Bag(), recalled.Bag())
	require.NoError(t, s.Store(recalled), "it is in a file")
	runtime.KeepAlive(recalled)
	require.Eventually(t, func() bool {
		runtime.GC()
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(files(t, folder)) == 0 && s.room == 100
	}, 10*time.Second, time.Millisecond)
}

// A content that is kept again while it goes stays.
func TestAContentThatReturnsStays(t *testing.T) {
	s := newSpool(t, t.TempDir())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 25 {
				c, err := s.Keep(databag.RefTo(bagOf("b", 500)), bagOf("b", 500))
				if assert.NoError(t, err) {
					runtime.GC()
					assert.Equal(t, bagOf("b", 500), c.Bag())
				}
			}
		})
	}
	all.Wait()
}

// TRUST.md U2: what a process before has left is used where it is whole, and else thrown away.
func TestTornFilesAreThrownAway(t *testing.T) {
	folder := t.TempDir()
	before := newSpool(t, folder)
	whole, torn, unused := keep(t, before, bagOf("a", 500)), keep(t, before, bagOf("b", 500)), keep(t, before, bagOf("c", 500))
	require.NoError(t, os.Truncate(before.path(torn.ref), 100))

	s := newSpool(t, folder)
	recalled, is := s.Recall(whole.ref)
	require.True(t, is)
	_, is = s.Recall(torn.ref)
	assert.False(t, is)
	_, is = s.Recall(databag.RefTo(bagOf("d", 500)))
	assert.False(t, is, "it was never there")
	require.NoError(t, s.Clean())
	assert.Equal(t, []string{whole.ref.Version}, files(t, folder))
	assert.Equal(t, bagOf("a", 500), recalled.Bag())
	assert.Equal(t, bagOf("b", 500), keep(t, s, bagOf("b", 500)).Bag())
	for _, c := range []*Content{whole, torn, unused} {
		runtime.KeepAlive(c)
	}
	require.NoError(t, newSpool(t, filepath.Join(folder, "none")).Clean())
}

// A content that cannot be read is not read as an empty one.
func TestALostContentIsReported(t *testing.T) {
	var lost error
	s := New(t.TempDir(), 0, func(err error) { lost = err })
	c := keep(t, s, bagOf("a", 10))
	require.NoError(t, os.WriteFile(s.path(c.ref), []byte("torn"), 0o600))
	_ = c.Bag()
	require.ErrorIs(t, lost, errTorn)
}

// What does not fit on disk, or is not what its reference refers to, is an error, and leaves nothing.
func TestWhatCannotBeKept(t *testing.T) {
	folder := t.TempDir()
	s := newSpool(t, filepath.Join(folder, "bags"))
	_, err := s.Keep(databag.Ref{Version: "../away"}, bagOf("a", 500))
	require.ErrorContains(t, err, `, not "../away"`)
	assert.Empty(t, files(t, filepath.Join(folder, "bags")))
	assert.Len(t, files(t, folder), 1)

	require.NoError(t, os.Remove(filepath.Join(folder, "bags")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "bags"), nil, 0o600))
	_, err = s.Keep(databag.RefTo(bagOf("a", 500)), bagOf("a", 500))
	require.ErrorContains(t, err, "cannot keep a databag")
}

// TRUST.md U2: a content counts when its last part has come, and is in a file by then.
func TestParts(t *testing.T) {
	folder := t.TempDir()
	s := newSpool(t, folder)
	bag := bagOf("a", 50)
	text := databag.Encode(bag)
	version := databag.Version(bag)
	receive := func(in *Incoming, part []byte, version string) *Content {
		t.Helper()
		c, err := s.Receive(in, part, version)
		require.NoError(t, err)
		return c
	}

	var in Incoming
	assert.Nil(t, receive(&in, text[:9], ""))
	assert.Nil(t, receive(&in, text[9:20], ""))
	c := receive(&in, text[20:], version)
	assert.Equal(t, bag, c.Bag())
	assert.Equal(t, []string{version}, files(t, folder))
	assert.Nil(t, receive(&in, text[:9], ""))
	assert.Same(t, c, receive(&in, text[9:], version), "it is there")
	assert.Equal(t, []string{version}, files(t, folder))

	assert.Nil(t, receive(&in, text[:9], ""))
	_, err := s.Receive(&in, text[10:], version)
	require.ErrorContains(t, err, "cannot keep a databag: its version is ", "a part is missing")
	assert.Nil(t, receive(&in, text[:9], ""))
	in.Discard()
	assert.Equal(t, []string{version}, files(t, folder), "what the stream did not finish is gone")

	other := bagOf("b", 60)
	one := receive(&in, databag.Encode(other), databag.Version(other))
	assert.False(t, one.InFile(), "what comes in one part may be in memory")
	assert.Equal(t, other, one.Bag())
	_, err = s.Receive(&in, []byte("torn"), version)
	require.Error(t, err)
}

// Whatever contents come, whole or in parts, and go, each that is in use is as it was, memory has its room at most, and in
// the end nothing is left (TRUST.md U2).
func TestContentsInUseAreAsTheyWere(t *testing.T) {
	root, round := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		folder := filepath.Join(root, strconv.Itoa(round))
		s := New(folder, 100, func(err error) { panic(err) })
		inUse := map[string]*Content{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			letter := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "letter")
			if rapid.Bool().Draw(t, "goes") {
				delete(inUse, letter)
				runtime.GC()
				continue
			}
			bag := bagOf(letter, rapid.IntRange(20, 80).Draw(t, "size"))
			inUse[letter] = come(t, s, bag, rapid.IntRange(0, 30).Draw(t, "first part"))
			require.Equal(t, bag, inUse[letter].Bag())
		}
		inMemory := 0
		for letter, c := range inUse {
			require.Contains(t, c.Bag()["k"], letter)
			if !c.InFile() {
				inMemory += databag.Size(c.Bag())
			}
		}
		require.LessOrEqual(t, inMemory, 100)
		require.LessOrEqual(t, s.free(), 100-inMemory)
	})
}

// free returns how much room a spool has.
func (s *Spool) free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room
}

// come has a bag come in two parts, or whole if the first has nothing.
func come(t *rapid.T, s *Spool, bag map[string]string, first int) *Content {
	var in Incoming
	text, version := databag.Encode(bag), databag.Version(bag)
	if first > 0 {
		c, err := s.Receive(&in, text[:first], "")
		require.NoError(t, err)
		require.Nil(t, c)
	}
	c, err := s.Receive(&in, text[first:], version)
	require.NoError(t, err)
	return c
}

// FuzzReceive: whatever comes in two parts is refused, or is the content of its version.
func FuzzReceive(f *testing.F) {
	text := databag.Encode(bagOf("a", 30))
	f.Add(text[:9], text[9:], databag.Version(bagOf("a", 30)))
	f.Add([]byte("torn"), []byte{}, "../away")
	f.Fuzz(func(t *testing.T, first, last []byte, version string) {
		root := t.TempDir()
		folder := filepath.Join(root, "bags")
		s := newSpool(t, folder)
		var in Incoming
		_, err := s.Receive(&in, first, "")
		require.NoError(t, err)
		c, err := s.Receive(&in, last, version)
		if err == nil && c != nil {
			require.NotNil(t, c.spool)
			require.FileExists(t, filepath.Join(folder, version))
		}
		require.Len(t, files(t, root), 1, "nothing is written elsewhere")
	})
}
