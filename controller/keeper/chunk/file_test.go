package chunk_test

import (
	"context"
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
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/redaction"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// streams is a sink for several streams, by the names of their files.
type streams struct {
	of map[string]*sink
	// down and lost are as those of a sink.
	down, lost bool
}

func (s *streams) Write(ctx context.Context, c chunk.Chunk) error {
	name, err := log.UnescapeName(c.File)
	if err != nil || c.Stream != log.StreamOf(name) {
		return fmt.Errorf("stream %s of %q: %w", c.Stream, c.File, err)
	}
	if s.of[name] == nil {
		s.of[name] = &sink{}
	}
	s.of[name].down, s.of[name].lost = s.down, s.lost
	return s.of[name].Write(ctx, c)
}

// texts returns what came of each file.
func (s *streams) texts() map[string]string {
	all := map[string]string{}
	for name, one := range s.of {
		all[name] = one.text()
	}
	return all
}

// files returns a carrier that knows only what is in its scratch folder.
func files(folder, scratch string, s *streams) *chunk.Files {
	return &chunk.Files{Folder: folder, Scratch: scratch, Fence: 1, Sink: s, Size: 5, Secrets: &redaction.Mounted{}}
}

// add adds a text to a file.
func add(t require.TestingT, name, text string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = file.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// JOBS.md J11: files of any names are carried as they grow, links and what is no file are not, and a file that is begun
// anew goes on behind what was carried.
func TestFiles(t *testing.T) {
	folder, scratch, out := t.TempDir(), t.TempDir(), t.TempDir()
	s := &streams{of: map[string]*sink{}}
	carry := func() []string {
		left, err := files(folder, scratch, s).Carry(t.Context())
		require.NoError(t, err)
		return left
	}
	in := func(name string) string { return filepath.Join(folder, name) }
	add(t, in("app.log"), "first line\n")
	add(t, in("sub/a b\xff"), "x")
	add(t, in("empty"), "")
	add(t, filepath.Join(out, "secret"), "secret")
	require.NoError(t, os.Symlink(filepath.Join(out, "secret"), in("link")))
	require.NoError(t, os.Symlink(out, in("folder")))
	require.NoError(t, syscall.Mkfifo(in("pipe"), 0o600))
	assert.Empty(t, carry())
	add(t, in("app.log"), "second\n")
	assert.Empty(t, carry())
	want := map[string]string{"app.log": "first line\nsecond\n", "sub/a b\xff": "x"}
	assert.Equal(t, want, s.texts())

	require.NoError(t, os.Truncate(in("app.log"), 0))
	add(t, in("app.log"), "third\n")
	assert.Empty(t, carry())
	require.NoError(t, os.Remove(in("app.log")))
	assert.Empty(t, carry())
	add(t, in("other"), "fourth, in another file\n")
	require.NoError(t, os.Rename(in("other"), in("app.log")))
	require.NoError(t, os.Remove(in("sub/a b\xff")))
	require.NoError(t, os.Symlink(filepath.Join(out, "secret"), in("sub/a b\xff")))
	assert.Empty(t, carry())
	want["app.log"] += "third\nfourth, in another file\n"
	assert.Equal(t, want, s.texts())

	for range 2 {
		require.NoError(t, files(folder, scratch, s).End(t.Context()))
	}
	assert.Len(t, s.of, 3, "an empty file is one too")
	for name, one := range s.of {
		for i, c := range one.chunks {
			assert.Equal(t, i == len(one.chunks)-1, c.Last, name)
		}
	}
	add(t, in("app.log"), "late")
	assert.Empty(t, carry())
	assert.Equal(t, want["app.log"], s.texts()["app.log"])
}

// JOBS.md J11: so many files are carried; the others are named.
func TestTooManyFiles(t *testing.T) {
	folder, scratch := t.TempDir(), t.TempDir()
	s := &streams{of: map[string]*sink{}}
	for i := range log.MaxFiles + 1 {
		add(t, filepath.Join(folder, fmt.Sprintf("%03d", i)), "x")
	}
	for range 2 {
		left, err := files(folder, scratch, s).Carry(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"064"}, left)
		assert.Len(t, s.of, log.MaxFiles)
	}
	none := files(folder+"/none", t.TempDir(), s)
	left, err := none.Carry(t.Context())
	require.NoError(t, err, "a run without such a folder")
	assert.Empty(t, left)
}

// JOBS.md J11: whatever fails or is started again in between, what the template adds to its files comes once and in
// order.
func TestFilesProperty(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		at, scratch := folder(r, base), folder(r, base)
		s := &streams{of: map[string]*sink{}}
		want := map[string]string{}
		for range rapid.IntRange(0, 40).Draw(r, "steps") {
			switch rapid.IntRange(0, 3).Draw(r, "step") {
			case 0, 1:
				name := rapid.SampledFrom([]string{"a", "b", "d/c"}).Draw(r, "file")
				text := strings.Repeat(string(rune('a'+len(want[name])%26)), rapid.IntRange(1, 11).Draw(r, "bytes"))
				add(r, filepath.Join(at, name), text)
				want[name] += text
			case 2:
				_, err := files(at, scratch, s).Carry(context.Background())
				if err != nil {
					require.ErrorIs(r, err, errDown)
				}
			case 3:
				s.down, s.lost = rapid.Bool().Draw(r, "down"), rapid.Bool().Draw(r, "lost")
			}
		}
		s.down, s.lost = false, false
		_, err := files(at, scratch, s).Carry(context.Background())
		require.NoError(r, err)
		require.Equal(r, want, s.texts())
	})
}

// JOBS.md J14: no chunk of a log file has a secret, also where two of them have a part of it each.
func TestRedactedFiles(t *testing.T) {
	folder, secrets, s := t.TempDir(), t.TempDir(), &streams{of: map[string]*sink{}}
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "password"), []byte("s3cret-1"), 0o600))
	f := files(folder, t.TempDir(), s)
	f.Size, f.Secrets.Path = 64, secrets
	name, padding := filepath.Join(folder, "log"), strings.Repeat("x", 60)
	carry := func() string {
		_, err := f.Carry(t.Context())
		require.NoError(t, err)
		return s.texts()["log"]
	}
	add(t, name, padding+"s3cret-1 s3c")
	assert.Equal(t, padding+"[redacted] ", carry(), "a value across chunks; the end may be the beginning of one")
	add(t, name, "ret-1 s3cr")
	s.lost = true
	_, err := f.Carry(t.Context())
	require.Error(t, err)
	s.lost = false
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "password"), []byte("s3cret-2"), 0o600))
	add(t, name, "et-1 s3cret-2 s3cr")
	assert.Equal(t, padding+"[redacted] [redacted] [redacted] [redacted] ", carry(), "a chunk that may be stored comes again as it was")
	f.Last = true
	assert.Equal(t, padding+"[redacted] [redacted] [redacted] [redacted] s3cr", carry(), "the file grows no more")
}

// JOBS.md J7: whatever a program puts in the place of a folder of log files while they are carried, that comes to its end.
func TestChangingFolder(t *testing.T) {
	folder, outside, s := t.TempDir(), t.TempDir(), &streams{of: map[string]*sink{}}
	name, pipe := filepath.Join(folder, "d"), filepath.Join(outside, "pipe")
	require.NoError(t, errors.Join(os.Mkdir(name, 0o700), syscall.Mkfifo(pipe, 0o600)))
	stop, stopped, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, pipe, unix.RENAME_EXCHANGE)
			}
		}
	}()
	f := files(folder, t.TempDir(), s)
	go func() {
		defer close(done)
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
			_, err := f.Carry(t.Context())
			assert.NoError(t, err)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		assert.Fail(t, "the keeper is held up")
	}
	close(stop)
	<-stopped
}
