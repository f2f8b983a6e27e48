package exchange_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

func TestFolder(t *testing.T) {
	f := exchange.Folder(t.TempDir())
	none, err := f.ReadStop()
	require.NoError(t, err)
	assert.Nil(t, none)
	want := exchange.Stop{Grace: time.Minute, Reason: "cancelled"}
	require.NoError(t, f.WriteStop(want))
	require.NoError(t, f.WriteStop(exchange.Stop{Reason: "again"}))
	got, err := f.ReadStop()
	require.NoError(t, err)
	assert.Equal(t, &want, got, "what is written stays")
	entries, err := os.ReadDir(string(f))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing else is left")
	require.NoError(t, os.WriteFile(filepath.Join(string(f), "ended"), []byte("{"), 0o600))
	_, err = f.ReadEnded()
	require.ErrorContains(t, err, "cannot read file ended of the exchange folder")
	_, err = exchange.Folder(filepath.Join(string(f), "none")).Shim().Lock()
	require.Error(t, err)
}

func TestAlive(t *testing.T) {
	f := exchange.Folder(t.TempDir())
	alive := func() bool {
		alive, err := f.Shim().Alive()
		require.NoError(t, err)
		return alive
	}
	assert.False(t, alive())
	held, err := f.Shim().Lock()
	require.NoError(t, err)
	assert.True(t, alive())
	_, err = f.Shim().Lock()
	require.ErrorContains(t, err, "another one is")
	require.NoError(t, held.Close())
	assert.False(t, alive())
}

// text returns what is left of an output; a hole reads as [n].
func text(t *testing.T, folder string) string {
	segments, err := exchange.Segments(folder, "out")
	require.NoError(t, err)
	var all strings.Builder
	end := int64(0)
	for _, one := range segments {
		if one.Position != end {
			fmt.Fprintf(&all, "[%d]", one.Position-end)
		}
		content, err := os.ReadFile(one.Path)
		require.NoError(t, err)
		all.Write(content)
		end = one.End()
	}
	return all.String()
}

// JOBS.md J11: an output that is not taken never blocks, and its hole is recorded, also at its end.
func TestStream(t *testing.T) {
	folder := t.TempDir()
	s := &exchange.Stream{Folder: folder, Name: "out", Segment: 4, Limit: 8}
	write := func(text string) {
		n, err := s.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
	write("ab")
	write("cdefgh")
	assert.Equal(t, "abcdefgh", text(t, folder))
	write("ijklm") // there is no room
	assert.Equal(t, "abcdefgh", text(t, folder))
	require.NoError(t, os.Remove(filepath.Join(folder, "out.0000000000000000000")))
	write("no")
	assert.Equal(t, "[4]efgh[5]no", text(t, folder), "there is room again")
	write("pqrstu")
	require.NoError(t, s.Close())
	assert.Equal(t, "[4]efgh[5]nopq[4]", text(t, folder), "the end is known")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "out.x"), nil, 0o600))
	assert.Equal(t, "[4]efgh[5]nopq[4]", text(t, folder), "another file")
}

// JOBS.md J11: a volume that fails is a hole.
func TestStreamWithoutVolume(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "later")
	s := &exchange.Stream{Folder: folder, Name: "out", Segment: 4, Limit: 8}
	n, err := s.Write([]byte("abcdef"))
	require.NoError(t, err)
	require.Equal(t, 6, n)
	require.NoError(t, os.Mkdir(folder, 0o700))
	_, err = s.Write([]byte("gh"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	assert.Equal(t, "[6]gh", text(t, folder))
}

// JOBS.md J7: a template may put anything into the folder. None of that holds up a keeper, leads it out of the folder, or
// fills its memory.
func TestHostileFolder(t *testing.T) {
	other := filepath.Join(t.TempDir(), "ended")
	require.NoError(t, os.WriteFile(other, []byte(`{"message":"secret"}`), 0o600))
	for what, plant := range map[string]func(name string){
		"pipe": func(name string) { require.NoError(t, syscall.Mkfifo(name, 0o600)) },
		"link": func(name string) { require.NoError(t, os.Symlink(other, name)) },
		"size": func(name string) {
			require.NoError(t, errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<30)))
		},
	} {
		f := exchange.Folder(t.TempDir())
		plant(filepath.Join(string(f), "ended"))
		plant(filepath.Join(string(f), "shim.lock"))
		plant(f.Output())
		done := make(chan struct{})
		go func() {
			defer close(done)
			ended, err := f.ReadEnded()
			assert.Error(t, err, what)
			assert.Nil(t, ended, what)
			_, _ = f.Shim().Alive() // an error is as good
			_, err = exchange.Segments(f.Output(), "stdout")
			assert.Error(t, err, what)
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			require.Fail(t, "the keeper is held up", what)
		}
	}
}

// A lock is of the folder alone: no link lets a run mark itself, or another one, as alive elsewhere.
func TestHostileLock(t *testing.T) {
	f, other := exchange.Folder(t.TempDir()), filepath.Join(t.TempDir(), "keeper.lock")
	require.NoError(t, os.Symlink(other, filepath.Join(string(f), "keeper.lock")))
	_, err := f.Keeper().Lock()
	require.Error(t, err)
	assert.NoFileExists(t, other)
}
