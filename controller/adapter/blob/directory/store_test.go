package directory_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/blobtest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
)

// writer has this program write blobs into a folder until it is killed.
const writer = "ORCON_TEST_WRITER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(writer); folder != "" {
		writeForEver(folder)
	}
	os.Exit(m.Run())
}

func open(t require.TestingT, folder string) *directory.Store {
	s, err := directory.Open(folder)
	require.NoError(t, err)
	return s
}

// JOBS-DESIGN.md 8: a directory is a store like any other.
func TestConformance(t *testing.T) {
	blobtest.Conformance(t, func(t *testing.T) blob.Store {
		s := open(t, filepath.Join(t.TempDir(), "blobs"))
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	})
}

// JOBS-DESIGN.md 8: a directory store means one replica.
func TestOneWriter(t *testing.T) {
	folder := t.TempDir()
	first := open(t, folder)
	_, err := directory.Open(folder)
	require.ErrorContains(t, err, "another process has it open: run one replica")
	require.NoError(t, first.Put(t.Context(), keyOf(1), strings.NewReader("x")), "the first one is unharmed")
	require.NoError(t, first.Close())
	second := open(t, folder)
	assert.Equal(t, "x", blobtest.Read(t, second, keyOf(1)))
	require.NoError(t, second.Close())
}

func TestForeignFiles(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder)
	for _, name := range []string{"lost+found/x", "one/notes.txt", "one/0000000000000000001/UPPER", "a/b/c/d"} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	found, err := s.List(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, found, "files of others are no blobs, and no errors")
	require.NoError(t, s.Close())
}

func keyOf(n int) blob.Key {
	return blob.Key{Workspace: "one", Fence: int64(1 + n/10), Name: "b" + strconv.Itoa(n)}
}

func contentOf(n int) []byte { return bytes.Repeat([]byte(fmt.Sprintln("blob", n)), 1+n*37%5000) }

// writeForEver stores one blob after the other, and prints the number of each that is stored.
func writeForEver(folder string) {
	s, err := directory.Open(folder)
	if err != nil {
		panic(err)
	}
	for n := 0; ; n++ {
		if err := s.Put(context.Background(), keyOf(n), bytes.NewReader(contentOf(n))); err != nil {
			panic(err)
		}
		fmt.Println(n)
	}
}

// JOBS.md J3, J5: a process that is killed anywhere leaves whole blobs, all that it has acknowledged among them, and
// nothing else.
func TestKilledWriter(t *testing.T) {
	folder := t.TempDir()
	stored, left := 0, 0
	for range 25 {
		acknowledged := killedWriter(t, folder)
		trash, err := os.ReadDir(filepath.Join(folder, ".incoming"))
		require.NoError(t, err)
		left += len(trash)
		s := open(t, folder)
		found, err := s.List(t.Context(), "")
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(found), acknowledged)
		stored = max(stored, len(found))
		for n := range found {
			require.Equal(t, string(contentOf(n)), blobtest.Read(t, s, keyOf(n)), n)
		}
		trash, err = os.ReadDir(filepath.Join(folder, ".incoming"))
		require.NoError(t, err)
		require.Empty(t, trash, "what is left is swept")
		require.NoError(t, s.Close())
	}
	t.Logf("%d blobs, %d half ones swept", stored, left)
}

// killedWriter runs a writer, which begins with the blobs that are there, kills it after some of its blobs, and
// returns how many it has acknowledged.
func killedWriter(t *testing.T, folder string) int {
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), writer+"="+folder)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	last := -1
	for range rand.IntN(60) {
		require.True(t, lines.Scan(), "the writer goes on until it is killed")
		last, err = strconv.Atoi(lines.Text())
		require.NoError(t, err)
	}
	require.NoError(t, child.Process.Kill())
	for lines.Scan() { // what it has printed before it was killed is acknowledged too
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			last = n
		}
	}
	_ = child.Wait()
	return last + 1
}

// A store that cannot be written gives the same error each time, so that a status which shows it stays as it is.
func TestUnwritable(t *testing.T) {
	folder := t.TempDir()
	s, err := directory.Open(folder)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	require.NoError(t, os.Remove(filepath.Join(folder, ".incoming")))
	for range 2 {
		err = s.Put(t.Context(), blob.Key{Workspace: "w", Fence: 1, Name: "x"}, strings.NewReader("x"))
		require.ErrorIs(t, err, fs.ErrNotExist)
		assert.EqualError(t, err, "cannot store blob w/0000000000000000001/x: cannot write into folder .incoming of the store: no such file or directory")
	}
}
