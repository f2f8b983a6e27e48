package bindings_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
)

// read returns a directory's files as an application reads them.
func read(t require.TestingT, dir string) map[string]string {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	files := map[string]string{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(content)
	}
	return files
}

func TestTheLayoutIsTheKubelets(t *testing.T) {
	volume := bindings.Volume{Path: t.TempDir()}
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	require.NoError(t, volume.Write("db", map[string]string{"type": "postgresql", "host": "a"}))
	dir := filepath.Join(volume.Path, "db")

	info, err := os.Lstat(dir)
	require.NoError(t, err)
	assert.True(t, info.IsDir(), "a real directory: watchers keep their watch")
	version, err := os.Readlink(filepath.Join(dir, "..data"))
	require.NoError(t, err)
	assert.Regexp(t, `^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\w+$`, version)
	target, err := os.Readlink(filepath.Join(dir, "host"))
	require.NoError(t, err)
	assert.Equal(t, "..data/host", target)
	for path, mode := range map[string]fs.FileMode{"": 0o755, version: 0o755, filepath.Join(version, "host"): 0o644} {
		info, err := os.Stat(filepath.Join(dir, path))
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), "readable by any user, whatever the umask: %s", path)
	}
}

func TestWrite(t *testing.T) {
	tests := map[string]struct {
		why    string
		before map[string]string
		after  map[string]string
	}{
		"Created":   {why: "a first set", after: map[string]string{"host": "a"}},
		"Changed":   {why: "a value", before: map[string]string{"host": "a"}, after: map[string]string{"host": "b"}},
		"Added":     {why: "a key", before: map[string]string{"host": "a"}, after: map[string]string{"host": "a", "port": "1"}},
		"Removed":   {why: "a key that is gone leaves no file", before: map[string]string{"host": "a", "port": "1"}, after: map[string]string{"host": "a"}},
		"Replaced":  {why: "all at once", before: map[string]string{"host": "a"}, after: map[string]string{"url": "b"}},
		"Emptied":   {why: "no keys, but a directory", before: map[string]string{"host": "a"}, after: map[string]string{}},
		"Binary":    {why: "any bytes are a value", after: map[string]string{"host": "\x00\xff\n'"}},
		"LongNames": {why: "SAFETY.md W1: 253 bytes", after: map[string]string{strings.Repeat("k", 253): "v"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			volume := bindings.Volume{Path: t.TempDir()}
			if test.before != nil {
				require.NoError(t, volume.Write("db", test.before))
			}
			require.NoError(t, volume.Write("db", test.after))
			assert.Equal(t, test.after, read(t, filepath.Join(volume.Path, "db")), test.why)
			assertNoRubbish(t, volume.Path)
		})
	}
}

// assertNoRubbish checks that no version but the one in force takes up memory.
func assertNoRubbish(t *testing.T, root string) {
	t.Helper()
	staged, err := filepath.Glob(filepath.Join(root, "..*"))
	require.NoError(t, err)
	assert.Empty(t, staged)
	versions, err := filepath.Glob(filepath.Join(root, "*", "..[0-9]*"))
	require.NoError(t, err)
	dirs, err := filepath.Glob(filepath.Join(root, "[a-z]*"))
	require.NoError(t, err)
	assert.Len(t, versions, len(dirs))
}

func TestNothingIsWrittenWhereNothingDiffers(t *testing.T) {
	volume := bindings.Volume{Path: t.TempDir()}
	require.NoError(t, volume.Write("db", map[string]string{"host": "a"}))
	link := filepath.Join(volume.Path, "db", "..data")
	before, err := os.Readlink(link)
	require.NoError(t, err)
	require.NoError(t, volume.Write("db", map[string]string{"host": "a"}))
	after, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, before, after, "a watcher would wake for nothing")
}

// A pipe in a directory's place waits for no writer.
func TestPipeInTheWay(t *testing.T) {
	volume := bindings.Volume{Path: t.TempDir()}
	require.NoError(t, syscall.Mkfifo(filepath.Join(volume.Path, "db"), 0o600))
	require.NoError(t, volume.Write("db", map[string]string{"host": "a"}))
	version, err := os.Readlink(filepath.Join(volume.Path, "db", "..data"))
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(volume.Path, "db", version)))
	require.NoError(t, syscall.Mkfifo(filepath.Join(volume.Path, "db", version), 0o600))
	require.NoError(t, volume.Write("db", map[string]string{"host": "a"}))
	assert.Equal(t, map[string]string{"host": "a"}, read(t, filepath.Join(volume.Path, "db")))
}

func TestRemove(t *testing.T) {
	volume := bindings.Volume{Path: t.TempDir()}
	require.NoError(t, volume.Write("db-7", map[string]string{"host": "a"}))
	require.NoError(t, volume.Remove("db-7"))
	require.NoError(t, volume.Remove("db-7"), "twice is as good as once")
	assert.Nil(t, read(t, filepath.Join(volume.Path, "db-7")))
	assertNoRubbish(t, volume.Path)
}

func TestRead(t *testing.T) {
	volume := bindings.Volume{Path: t.TempDir()}
	files, err := volume.Read("db")
	require.NoError(t, err)
	assert.Nil(t, files, "there is none")
	for _, want := range []map[string]string{{"host": "a", "port": "1"}, {"host": "b"}, {}} {
		require.NoError(t, volume.Write("db", want))
		files, err = volume.Read("db")
		require.NoError(t, err)
		assert.Equal(t, want, files)
	}
	_, err = volume.Read("../db")
	assert.ErrorIs(t, err, bindings.ErrName)
}

// A process that was killed leaves things behind; the next one goes on.
func TestWhatAKilledProcessLeft(t *testing.T) {
	volume := bindings.Volume{Path: t.TempDir()}
	require.NoError(t, volume.Write("db", map[string]string{"host": "a", "port": "1"}))
	for _, dir := range []string{"..orcon_half", "db/..2020_01_01_00_00_00.dead"} {
		require.NoError(t, os.Mkdir(filepath.Join(volume.Path, dir), 0o750))
	}
	require.NoError(t, os.Symlink("..2020_01_01_00_00_00.dead", filepath.Join(volume.Path, "db/..data_tmp")))
	require.NoError(t, os.Remove(filepath.Join(volume.Path, "db/port")), "killed before the last link")
	require.NoError(t, volume.Clean())
	require.NoError(t, volume.Write("db", map[string]string{"host": "a", "port": "1"}))
	assert.Equal(t, map[string]string{"host": "a", "port": "1"}, read(t, filepath.Join(volume.Path, "db")))
	require.NoError(t, volume.Write("db", map[string]string{"host": "b"}))
	assertNoRubbish(t, volume.Path)
	require.NoError(t, os.Mkdir(filepath.Join(volume.Path, "mail"), 0o750))
	require.NoError(t, volume.Write("mail", map[string]string{"host": "m"}), "a directory that is not ours gives way")
	assert.Equal(t, map[string]string{"host": "m"}, read(t, filepath.Join(volume.Path, "mail")))
}

// SAFETY.md I28: no name reaches outside, whatever it is.
func TestNoNameLeavesTheVolume(t *testing.T) {
	outside := t.TempDir()
	volume := bindings.Volume{Path: filepath.Join(outside, "bindings")}
	require.NoError(t, os.Mkdir(volume.Path, 0o750))
	for _, name := range []string{"../x", "..", "/tmp/orcon-escape", "a/../../x", ""} {
		assert.ErrorIs(t, volume.Write(name, map[string]string{"host": "a"}), bindings.ErrName, name)
		assert.ErrorIs(t, volume.Remove(name), bindings.ErrName, name)
	}
	for _, key := range []string{"../../x", "/x", "..", "a/b", ""} {
		assert.ErrorIs(t, volume.Write("db", map[string]string{key: "a"}), bindings.ErrName, key)
	}
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

// SAFETY.md I19: a volume that is full costs nothing that was there.
func TestAFullVolumeKeepsWhatWasThere(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mount("orcon", root, "tmpfs", 0, "size=256k"); err != nil {
		limited := fullByLimit(t)
		require.ErrorIs(t, limited, syscall.EFBIG)
		return
	}
	t.Cleanup(func() { _ = syscall.Unmount(root, 0) })
	volume := bindings.Volume{Path: root}
	require.NoError(t, volume.Write("db", map[string]string{"host": "a"}))
	big := map[string]string{"host": strings.Repeat("x", 512<<10)}
	require.ErrorIs(t, volume.Write("db", big), syscall.ENOSPC)
	require.ErrorIs(t, volume.Write("mail", big), syscall.ENOSPC)
	require.Error(t, bindings.File{Path: filepath.Join(root, "env")}.Replace([]byte(big["host"])))
	assert.Equal(t, map[string]string{"host": "a"}, read(t, filepath.Join(root, "db")))
	assertNoRubbish(t, root)
	require.NoError(t, volume.Write("mail", map[string]string{"host": "m"}), "and the next that fits is written")
}

// fullByLimit provokes a failing write without a file system of its own: no
// file may be longer than the limit.
func fullByLimit(t *testing.T) error {
	t.Helper()
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	low := limit
	low.Cur = 64 << 10
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low))
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) }()
	volume := bindings.Volume{Path: t.TempDir()}
	require.NoError(t, volume.Write("db", map[string]string{"host": "a"}))
	err := volume.Write("db", map[string]string{"host": strings.Repeat("x", 512<<10)})
	assert.Equal(t, map[string]string{"host": "a"}, read(t, filepath.Join(volume.Path, "db")))
	return err
}

// Property: after any sequence of writes and removals the volume holds what was
// written last.
func TestTheLastWriteWins(t *testing.T) {
	root := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		volume := bindings.Volume{Path: filepath.Join(root, fmt.Sprint(round))}
		require.NoError(t, os.Mkdir(volume.Path, 0o750))
		want := map[string]map[string]string{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"db", "db-1", "mail"}).Draw(t, "name")
			if rapid.IntRange(0, 4).Draw(t, "remove") == 0 {
				require.NoError(t, volume.Remove(name))
				delete(want, name)
				continue
			}
			files := rapid.MapOf(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,5}`), rapid.String()).Draw(t, "files")
			require.NoError(t, volume.Write(name, files))
			want[name] = files
		}
		got := map[string]map[string]string{}
		entries, err := os.ReadDir(volume.Path)
		require.NoError(t, err)
		for _, e := range entries {
			got[e.Name()] = read(t, filepath.Join(volume.Path, e.Name()))
		}
		require.Equal(t, want, got)
	})
}

// Property: a reader that goes through ..data sees all of one set, never parts of
// two, while a writer changes it as fast as it can.
func TestAReaderNeverSeesHalf(t *testing.T) {
	volume := bindings.Volume{Path: t.TempDir()}
	set := func(n int) map[string]string {
		files := map[string]string{}
		for i := range 3 + n%5 {
			files[fmt.Sprintf("key-%d", i)] = fmt.Sprint(n)
		}
		return files
	}
	require.NoError(t, volume.Write("db", set(0)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 500 {
			assert.NoError(t, volume.Write("db", set(n)))
		}
	}()
	reads := 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		files, whole := readThroughData(t, filepath.Join(volume.Path, "db"))
		if !whole {
			continue // the version was replaced while we read: look again
		}
		reads++
		values := slices.Compact(slices.Sorted(maps.Values(files)))
		require.Len(t, values, 1, "parts of two sets: %v", files)
		var n int
		_, err := fmt.Sscan(values[0], &n)
		require.NoError(t, err)
		require.Equal(t, set(n), files)
	}
	assert.Greater(t, reads, 20)
}

// readThroughData resolves ..data once and reads what is there.
func readThroughData(t *testing.T, dir string) (files map[string]string, whole bool) {
	t.Helper()
	version, err := os.Readlink(filepath.Join(dir, "..data"))
	require.NoError(t, err, "there is a version at every moment")
	root, err := os.OpenRoot(filepath.Join(dir, version))
	if err != nil {
		return nil, false
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, false
	}
	files = map[string]string{}
	for _, e := range entries {
		content, err := root.ReadFile(e.Name())
		if err != nil {
			return nil, false
		}
		files[e.Name()] = string(content)
	}
	now, err := os.Readlink(filepath.Join(dir, "..data"))
	require.NoError(t, err)
	return files, now == version // else it may have been on its way out
}

func TestFile(t *testing.T) {
	file := bindings.File{Path: filepath.Join(t.TempDir(), "env")}
	content, err := file.Read()
	require.NoError(t, err, "no file is no error")
	assert.Nil(t, content)
	assert.False(t, file.Exists())
	require.NoError(t, file.Replace([]byte("A='1'\n")))
	require.NoError(t, file.Replace([]byte("A='2'\n")))
	content, err = file.Read()
	require.NoError(t, err)
	assert.Equal(t, "A='2'\n", string(content))
	assert.True(t, file.Exists())
	missing := bindings.File{Path: filepath.Join(t.TempDir(), "gone", "env")}
	assert.ErrorIs(t, missing.Replace(nil), fs.ErrNotExist)
}
