package state_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
)

const limit = 1 << 20

func capture(t require.TestingT, folder string, exclude ...string) (state.Summary, []byte) {
	globs, err := state.ParseExclude(exclude)
	require.NoError(t, err)
	var out bytes.Buffer
	got, err := state.Capture(&out, folder, state.Options{Exclude: globs, Limit: limit})
	require.NoError(t, err)
	return got, out.Bytes()
}

func write(t require.TestingT, folder, name, content string, mode fs.FileMode) {
	file := filepath.Join(folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	require.NoError(t, os.Chmod(file, mode))
}

func folder(t require.TestingT, parent string) string {
	name, err := os.MkdirTemp(parent, "state")
	require.NoError(t, err)
	return name
}

// JOBS.md J12: equal states are equal archives, whenever and by whom they were written.
func TestCaptureIsDeterministic(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, name := range []string{"a/b", "a-b", "z", "a.c"} {
		write(t, a, name, name, 0o640)
	}
	for _, name := range []string{"z", "a.c", "a-b", "a/b"} {
		write(t, b, name, name, 0o640)
	}
	require.NoError(t, os.Chtimes(filepath.Join(b, "z"), time.Unix(1, 0), time.Unix(2, 0)))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(filepath.Join(b, "z"), 12, 34))
	}
	one, packed := capture(t, a)
	two, again := capture(t, b)
	assert.Equal(t, one, two)
	assert.Equal(t, packed, again)
	assert.False(t, one.Torn)
	assert.Positive(t, one.Size)
	write(t, b, "z", "z", 0o600)
	three, _ := capture(t, b)
	assert.NotEqual(t, one.Digest, three.Digest, "a mode is a part of the state")
}

func TestCaptureExcludes(t *testing.T) {
	at := t.TempDir()
	for _, name := range []string{".terraform/x", "m/.terraform/y", "m/.terraform.d/z", "a.log", "m/b.log", "cache/c.tmp", "m/cache/c.tmp", "keep"} {
		write(t, at, name, "x", 0o600)
	}
	_, packed := capture(t, at, ".terraform/", "*.log", "cache/*.tmp", "/keep")
	assert.Equal(t, []string{"cache/", "m/", "m/.terraform.d/", "m/.terraform.d/z", "m/cache/", "m/cache/c.tmp"}, names(t, packed))
	for _, bad := range []string{"", "/", "[", "a/**/b"} {
		_, err := state.ParseExclude([]string{bad})
		require.ErrorContains(t, err, "write a glob", bad)
	}
	globs, err := state.ParseExclude([]string{"keep/"})
	require.NoError(t, err)
	assert.False(t, globs.Matches("keep", false), "a file is no folder")
}

func names(t *testing.T, packed []byte) []string {
	plain, err := zstd.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	defer plain.Close()
	var all []string
	for in := tar.NewReader(plain); ; {
		h, err := in.Next()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		all = append(all, h.Name)
	}
}

// JOBS.md J12, JOBS-DESIGN.md 10: what could not be restored is refused while a person can still remove it.
func TestCaptureRefuses(t *testing.T) {
	tests := map[string]struct {
		why  string
		make func(at string) error
		want string
	}{
		"Pipe":     {why: "no content", make: func(at string) error { return syscall.Mkfifo(at+"/p", 0o600) }, want: `"p": it is a named pipe: remove or exclude`},
		"Socket":   {why: "no content", make: func(at string) error { _, err := net.Listen("unix", at+"/s"); return err }, want: `"s": it is a socket`},
		"Absolute": {why: "another machine's file", make: func(at string) error { return os.Symlink("/etc/passwd", at+"/l") }, want: `"l": it links to "/etc/passwd", outside`},
		"Up":       {why: "outside", make: func(at string) error { return os.Symlink("../x", at+"/l") }, want: `"l": it links to "../x", outside`},
		"Large":    {why: "a limit", make: func(at string) error { return os.WriteFile(at+"/f", make([]byte, limit), 0o600) }, want: "exceeds 1048576 bytes"},
		"Many": {why: "a header for each counts", make: func(at string) error {
			for i := range limit/512 + 1 {
				if err := os.WriteFile(fmt.Sprint(at, "/f", i), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		}, want: "exceeds 1048576 bytes"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			at := t.TempDir()
			require.NoError(t, tc.make(at))
			_, err := state.Capture(io.Discard, at, state.Options{Limit: limit})
			require.ErrorContains(t, err, tc.want, tc.why)
		})
	}
	_, err := state.Capture(io.Discard, filepath.Join(t.TempDir(), "none"), state.Options{Limit: limit})
	require.ErrorIs(t, err, fs.ErrNotExist, "a state that is not there is not an empty one")
}

// JOBS.md J12, JOBS-DESIGN.md 7: a checkpoint beside a process that writes is whole as an archive, and known as torn.
func TestCaptureBesideWriter(t *testing.T) {
	at := t.TempDir()
	write(t, at, "d/steady", "x", 0o600)
	var end atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; !end.Load(); i++ {
			name := filepath.Join(at, fmt.Sprint("d", i%7))
			_ = os.RemoveAll(name)
			switch i % 4 {
			case 0:
				_ = os.WriteFile(name, bytes.Repeat([]byte("x"), i%5000), 0o600)
			case 1:
				_ = os.Mkdir(name, 0o700)
				_ = os.WriteFile(name+"/f", nil, 0o600)
			case 2:
				_ = os.Symlink("d/steady", name)
			}
			_ = os.Truncate(filepath.Join(at, fmt.Sprint("d", (i+1)%7)), int64(i%3000))
		}
	}()
	torn := 0
	for range 200 {
		got, packed := capture(t, at)
		same, err := state.Verify(bytes.NewReader(packed), limit)
		require.NoError(t, err)
		require.Equal(t, got.Digest, same.Digest)
		if got.Torn {
			torn++
		}
	}
	end.Store(true)
	<-ended
	assert.Positive(t, torn, "some of 200 captures met a change")
	got, _ := capture(t, at)
	assert.False(t, got.Torn, "nothing changes any more")
}

// writing calls a function at its first write.
type writing struct{ first func() }

func (w *writing) Write(p []byte) (int, error) {
	if w.first != nil {
		w.first()
		w.first = nil
	}
	return len(p), nil
}

// A file that is written again in place, with as many bytes, after it was packed, makes the archive torn.
func TestCaptureIsTorn(t *testing.T) {
	at := t.TempDir()
	write(t, at, "a", "old", 0o600)
	large := make([]byte, 4<<20)
	source := rand.NewChaCha8([32]byte{})
	_, err := source.Read(large)
	require.NoError(t, err)
	write(t, at, "b", string(large), 0o600)
	met := false
	out := &writing{first: func() {
		met = true
		require.NoError(t, os.WriteFile(filepath.Join(at, "a"), []byte("new"), 0o600))
	}}
	got, err := state.Capture(out, at, state.Options{Limit: 8 << 20})
	require.NoError(t, err)
	require.True(t, met)
	assert.True(t, got.Torn)
	again, err := state.Capture(out, at, state.Options{Limit: 8 << 20})
	require.NoError(t, err)
	assert.False(t, again.Torn)
}

// JOBS.md J12: what is restored is captured again as the same bytes.
func TestRestoreProperty(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		from, to := folder(t, base), folder(t, base)
		for range rapid.IntRange(0, 12).Draw(t, "entries") {
			name := rapid.StringMatching(`[a-c.é\\-]{1,3}(/[a-c-]{1,2}){0,3}`).Draw(t, "name")
			if filepath.Clean(name) != name || strings.HasPrefix(name, "..") || name == "." {
				continue
			}
			at := filepath.Join(from, name)
			if os.MkdirAll(filepath.Dir(at), 0o755) != nil {
				continue // a file is there
			}
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				_ = os.Mkdir(at, 0o700)
			case 1:
				_ = os.Symlink(rapid.SampledFrom([]string{"a", "b/c", "none"}).Draw(t, "target"), at)
			default:
				if _, err := os.Lstat(at); err == nil {
					continue
				}
				content := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "content")
				require.NoError(t, os.WriteFile(at, content, 0o600))
				mode := rapid.SampledFrom([]fs.FileMode{0o600, 0o755, 0o444, 0o4755 | fs.ModeSetuid}).Draw(t, "mode")
				require.NoError(t, os.Chmod(at, mode))
			}
		}
		want, packed := capture(t, from)
		require.NoError(t, state.Restore(to, bytes.NewReader(packed), want.Digest, limit))
		got, again := capture(t, to)
		require.Equal(t, want, got)
		require.Equal(t, packed, again)
	})
}

func TestRestoreFolders(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "locked/in/file", "x", 0o400)
	require.NoError(t, os.Symlink("../locked", filepath.Join(from, "locked/up")))
	require.NoError(t, os.Chmod(filepath.Join(from, "locked/in"), 0o500))
	require.NoError(t, os.Chmod(filepath.Join(from, "locked"), 0o555))
	want, packed := capture(t, from)
	require.NoError(t, state.Restore(to, bytes.NewReader(packed), want.Digest, limit))
	got, _ := capture(t, to)
	assert.Equal(t, want, got, "folders that nobody may write to are filled first")
	for _, at := range []string{from, to} {
		require.NoError(t, os.Chmod(filepath.Join(at, "locked"), 0o755))
		require.NoError(t, os.Chmod(filepath.Join(at, "locked/in"), 0o755))
	}
	require.ErrorContains(t, state.Restore(to, bytes.NewReader(packed), want.Digest, limit), "is not empty: it holds 1 ")
	empty := t.TempDir()
	require.ErrorContains(t, state.Restore(empty, bytes.NewReader(packed), "sha256:0", limit), "it was damaged where it is stored")
	require.ErrorIs(t, state.Restore(empty, bytes.NewReader(packed), want.Digest, want.Size-1), state.ErrTooLarge)
	require.Error(t, state.Restore(empty, bytes.NewReader(packed[:len(packed)-5]), want.Digest, limit), "cut off")
	left, err := os.ReadDir(empty)
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is written of an archive that is refused")
}

// A file at the top of an archive is read without restoring it.
func TestReadFile(t *testing.T) {
	at := t.TempDir()
	write(t, at, "plan.txt", "1 to add", 0o600)
	write(t, folder(t, at), "plan.txt", "deeper", 0o600)
	_, packed := capture(t, at)
	text, err := state.ReadFile(bytes.NewReader(packed), "plan.txt", 8)
	require.NoError(t, err)
	assert.Equal(t, "1 to add", string(text))
	_, err = state.ReadFile(bytes.NewReader(packed), "plan", 8)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = state.ReadFile(bytes.NewReader(packed), "plan.txt", 7)
	require.ErrorIs(t, err, state.ErrTooLarge)
	_, err = state.ReadFile(strings.NewReader("PK"), "plan.txt", 7)
	require.ErrorContains(t, err, "cannot read plan.txt")
}

// header is one entry of a hostile archive.
func header(name string, kind byte, link string) tar.Header {
	h := tar.Header{Name: name, Typeflag: kind, Linkname: link, Mode: 0o644}
	if kind == tar.TypeSymlink {
		h.Mode = 0o777
	}
	return h
}

func tarOf(t testing.TB, headers ...tar.Header) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		require.NoError(t, w.WriteHeader(&h))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// JOBS.md J12: archives of strangers.
func TestVerifyRefuses(t *testing.T) {
	f := func(name string) tar.Header { return header(name, tar.TypeReg, "") }
	d := func(name string) tar.Header { return header(name+"/", tar.TypeDir, "") }
	l := func(name, to string) tar.Header { return header(name, tar.TypeSymlink, to) }
	setuid, dated, owned := f("a"), f("a"), f("a")
	setuid.Mode = 0o4755
	dated.ModTime = time.Unix(1, 0)
	owned.Uname = "root"
	tests := map[string]struct {
		why   string
		plain []byte
		want  string
	}{
		"Absolute":     {why: "the machine's", plain: tarOf(t, f("/etc/passwd")), want: `"/etc/passwd": it is absolute`},
		"Up":           {why: "outside", plain: tarOf(t, f("../x")), want: `"../x": it has an empty name, "." or ".."`},
		"UpLater":      {why: "outside", plain: tarOf(t, d("a"), f("a/../../x")), want: `".."`},
		"Dot":          {why: "two names of one file", plain: tarOf(t, f("./x")), want: `"./x"`},
		"Itself":       {why: "the folder has no entry", plain: tarOf(t, d(".")), want: `"."`},
		"LinkAbsolute": {why: "outside", plain: tarOf(t, l("a", "/etc")), want: `"a": it links to "/etc"`},
		"LinkUp":       {why: "outside", plain: tarOf(t, d("a"), l("a/b", "../../x")), want: `"a/b": it links to "../../x"`},
		"LinkTop":      {why: "outside", plain: tarOf(t, l("a", "..")), want: `"a": it links to ".."`},
		"LinkOverLink": {why: "up from where another link leads", plain: tarOf(t, d("a"), l("a/b", ".."), l("c", "a/b/..")), want: `"c": it links to "a/b/..", which is not`},
		"LinkNothing":  {why: "no system makes it", plain: tarOf(t, l("a", "")), want: `"a": it links to ""`},
		"BelowLink":    {why: "written through a link", plain: tarOf(t, d("d"), l("e", "d"), f("e/x")), want: `"e/x": its folder is missing before it, or is a file or a link`},
		"BelowFile":    {why: "a file is no folder", plain: tarOf(t, f("e"), f("e/x")), want: "its folder is missing"},
		"NoFolder":     {why: "its mode is unknown", plain: tarOf(t, f("e/x")), want: "its folder is missing"},
		"HardLink":     {why: "a link to any file", plain: tarOf(t, f("a"), header("b", tar.TypeLink, "a")), want: `"b": it is a hard link`},
		"Device":       {why: "a disk", plain: tarOf(t, header("a", tar.TypeBlock, "")), want: `"a": it is a device`},
		"Terminal":     {why: "a device", plain: tarOf(t, header("a", tar.TypeChar, "")), want: `"a": it is a device`},
		"Pipe":         {why: "it blocks its reader", plain: tarOf(t, header("a", tar.TypeFifo, "")), want: `"a": it is a named pipe`},
		"Strange":      {why: "unknown", plain: tarOf(t, header("a", 'V', "")), want: `"a": it is an entry of type 'V'`},
		"Twice":        {why: "which counts?", plain: tarOf(t, f("a"), f("a")), want: `"a": it is there twice`},
		"FolderTwice":  {why: "which counts?", plain: tarOf(t, f("a"), d("a")), want: `"a": it is there twice`},
		"Order":        {why: "one state, one archive", plain: tarOf(t, f("b"), f("a")), want: `"a": it comes after "b"`},
		"Setuid":       {why: "another's rights", plain: tarOf(t, setuid), want: "not in the form that a capture writes"},
		"Dated":        {why: "one state, one archive", plain: tarOf(t, dated), want: "not in the form"},
		"Owned":        {why: "one state, one archive", plain: tarOf(t, owned), want: "not in the form"},
		"Tail":         {why: "hidden bytes", plain: append(tarOf(t, f("a")), 'x'), want: "not in the form"},
		"CutOff":       {why: "damaged", plain: tarOf(t, f("a"))[:700], want: "unexpected EOF"},
		"Nothing":      {why: "an empty archive has an end too", plain: nil, want: "not in the form"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := state.VerifyPlain(bytes.NewReader(tc.plain), limit)
			require.ErrorContains(t, err, tc.want, tc.why)
		})
	}
	good := tarOf(t, f("a"), d("b"), l("b/c", "../a"), f("b-d"))
	_, err := state.VerifyPlain(bytes.NewReader(good), limit)
	require.NoError(t, err, "the table refuses for its reasons only")
}

// JOBS.md J12: an archive that unpacks to much more than it may is left after its limit.
func TestVerifyLeavesBomb(t *testing.T) {
	h := header("a", tar.TypeReg, "")
	h.Size = 1 << 30
	var packed bytes.Buffer
	out, err := zstd.NewWriter(&packed)
	require.NoError(t, err)
	w := tar.NewWriter(out)
	require.NoError(t, w.WriteHeader(&h))
	block := make([]byte, 1<<20)
	for range 1 << 10 {
		_, err := w.Write(block)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, out.Close())
	require.Less(t, packed.Len(), limit, "it is small")
	_, err = state.Verify(&packed, limit)
	require.ErrorIs(t, err, state.ErrTooLarge)
	_, err = state.Verify(strings.NewReader("no archive"), limit)
	require.Error(t, err)
}

// FuzzVerify takes any bytes: an archive that is accepted is restored within its folder, and captured as the same bytes.
func FuzzVerify(f *testing.F) {
	f.Add(tarOf(f, header("a", tar.TypeReg, ""), header("b/", tar.TypeDir, ""), header("b/c", tar.TypeSymlink, "../a")))
	f.Add(tarOf(f, header("../a", tar.TypeReg, "")))
	f.Add(tarOf(f, header("é/", tar.TypeDir, ""), header("é/"+strings.Repeat("x", 120), tar.TypeReg, "")))
	base := f.TempDir()
	f.Fuzz(func(t *testing.T, plain []byte) {
		want, err := state.VerifyPlain(bytes.NewReader(plain), limit)
		if err != nil {
			return
		}
		to := folder(t, base)
		defer os.RemoveAll(to)
		out, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		packed := out.EncodeAll(plain, nil)
		if err := state.Restore(to, bytes.NewReader(packed), want.Digest, limit); err != nil {
			require.ErrorIs(t, err, syscall.ENAMETOOLONG, "this system has shorter names")
			return
		}
		got, _ := capture(t, to)
		require.Equal(t, want, got)
	})
}

// JOBS.md J7: whatever a program puts in the place of a folder while that is captured, the capture comes to its end.
func TestCaptureOfChangingFolder(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	name := filepath.Join(folder, "d")
	require.NoError(t, errors.Join(os.Mkdir(name, 0o700), syscall.Mkfifo(filepath.Join(outside, "pipe"), 0o600)))
	require.NoError(t, os.Symlink(outside, filepath.Join(outside, "link")))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, with := range []string{"pipe", "link"} {
				_ = unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, filepath.Join(outside, with), unix.RENAME_EXCHANGE)
				_ = unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, filepath.Join(outside, with), unix.RENAME_EXCHANGE)
			}
		}
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
			if _, err := state.Capture(io.Discard, folder, state.Options{Limit: 1 << 20}); err != nil {
				assert.NotContains(t, err.Error(), "cannot read", "what changes never fails it")
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		assert.Fail(t, "the capture is held up")
	}
	close(stop)
	<-stopped
}
