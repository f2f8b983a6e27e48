package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/sandbox"
)

// parent is the argument of a process that runs a child in a folder and waits.
const parent = "parent-of-a-child"

func TestMain(m *testing.M) {
	sandbox.Main(probe)
	if len(os.Args) == 3 && os.Args[1] == parent {
		box, err := sandbox.Open(os.Args[2])
		if err == nil {
			err = box.Run(context.Background(), usual(), strings.NewReader("hang\n"), os.Stdout)
		}
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// usual are limits that no test reaches by accident.
func usual() sandbox.Allowance {
	return sandbox.Allowance{Memory: 512 << 20, CPU: 5 * time.Minute, Wall: 10 * time.Minute, Output: 1 << 20}
}

// probe is the work of a child: the lines of its input are what it does, one after the other.
func probe(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "memory":
			size, _ := strconv.Atoi(rest)
			held := make([]byte, size)
			for i := 0; i < size; i += 4096 {
				held[i] = 1
			}
		case "spin":
			for i := 0; ; i++ {
				_ = i
			}
		case "recurse":
			fmt.Fprintln(out, deep(1))
		case "hang":
			fmt.Fprintln(os.Stdout, os.Getpid())
			<-time.After(time.Hour)
		case "panic":
			panic(rest)
		case "output":
			size, _ := strconv.Atoi(rest)
			_, _ = out.Write(make([]byte, size))
		case "environment":
			fmt.Fprintln(out, os.Environ())
		case "descriptors":
			var open []string
			for fd := range 256 {
				if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
					kind, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
					open = append(open, kind)
				}
			}
			fmt.Fprintln(out, open)
		default:
			fmt.Fprintln(out, attempt(verb, rest))
		}
	}
	return lines.Err()
}

// attempt does what a child may not, or may within its folder.
func attempt(verb, rest string) error {
	switch verb {
	case "read":
		_, err := os.ReadFile(rest)
		return err
	case "write":
		return os.WriteFile(rest, []byte("x"), 0o600)
	case "scratch":
		size, _ := strconv.Atoi(rest)
		return os.WriteFile(filepath.Join(os.TempDir(), "file"), make([]byte, size), 0o600)
	case "run":
		return exec.Command(rest).Run()
	case "kill":
		return syscall.Kill(os.Getppid(), 0)
	}
	return errors.New("unknown")
}

func deep(n int) int {
	if n == 0 {
		return 0
	}
	return deep(n+1) + 1
}

// run has a child do something, and returns what it wrote. Its folder is gone afterwards.
func run(t *testing.T, l sandbox.Allowance, input string) (string, error) {
	t.Helper()
	box, err := sandbox.Open(t.TempDir())
	require.NoError(t, err)
	var out bytes.Buffer
	err = box.Run(t.Context(), l, strings.NewReader(input+"\n"), &out)
	left, failed := os.ReadDir(box.Folder)
	require.NoError(t, failed)
	assert.Empty(t, left, "the folder of the child is left")
	return out.String(), err
}

// TestLimits has a child reach each of its limits (TRUST.md U6). What it does otherwise is no limit's fault.
func TestLimits(t *testing.T) {
	tests := map[string]struct {
		why, input, want string
		limit            func(*sandbox.Allowance)
	}{
		"Memory":    {"one large piece", "memory 2000000000", "needs more than 512 MiB of memory", nil},
		"Processor": {"an endless loop", "spin", "needs more than 1s of processor time", func(l *sandbox.Allowance) { l.CPU = time.Second }},
		"Clock":     {"it waits for ever", "hang", "needs more than 1s of time", func(l *sandbox.Allowance) { l.Wall = time.Second }},
		"Output":    {"more than its parent takes", "output 2000000", "needs more than 1024 KiB for its result", nil},
		"Stack":     {"it calls itself", "recurse", "needs more than 64 MiB for one call", nil},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			limits := usual()
			if tc.limit != nil {
				tc.limit(&limits)
			}
			_, err := run(t, limits, tc.input)
			require.ErrorContains(t, err, tc.want, tc.why)
			_, reached := errors.AsType[*sandbox.LimitError](err)
			assert.True(t, reached)
		})
	}
	t.Run("Panic", func(t *testing.T) {
		_, err := run(t, usual(), "panic hush")
		require.ErrorContains(t, err, "ended without an answer")
		assert.NotContains(t, err.Error(), "hush", "it may be a value of a Secret (TRUST.md R5)")
	})
	t.Run("Below", func(t *testing.T) {
		_, err := run(t, usual(), "memory 200000000\noutput 1000000")
		require.NoError(t, err)
	})
}

// TestConfined has a child do what only its parent may.
func TestConfined(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("hush"), 0o600))
	t.Setenv("ORCON_TEST_SECRET", "hush")
	t.Setenv("NO_PROXY", "example.org")
	inherited, err := unix.Open(token, unix.O_RDONLY, 0) // as the runtime of containers may leave one
	require.NoError(t, err)
	defer unix.Close(inherited)
	denied := []string{"read " + token, "write " + filepath.Dir(token) + "/x", "read /proc/1/environ", fmt.Sprintf("read /proc/%d/environ", os.Getpid()),
		"run /bin/true", "kill"}
	out, err := run(t, usual(), strings.Join(denied, "\n")+"\nscratch 1000\nscratch 2000000\nread /etc/hosts\nenvironment\ndescriptors")
	require.NoError(t, err)
	lines := strings.Split(out, "\n")
	for i, what := range denied {
		assert.Regexp(t, "permission denied|operation not permitted", lines[i], what)
	}
	rest := lines[len(denied):]
	assert.Equal(t, "<nil>", rest[0], "its own folder")
	assert.Contains(t, rest[1], "file too large")
	assert.Equal(t, "<nil>", rest[2], "what names servers")
	assert.NotContains(t, rest[3], "hush")
	assert.Contains(t, rest[3], "NO_PROXY=example.org")
	assert.Regexp(t, `^\[pipe:\S+ pipe:\S+ pipe:\S+( /sys/fs/cgroup/\S+| anon_inode:\S+)*\]$`, rest[4], "its own, and those of the Go runtime")
}

// TestEndOfContext ends the context of a child that hangs.
func TestEndOfContext(t *testing.T) {
	box, err := sandbox.Open(t.TempDir())
	require.NoError(t, err)
	ctx, end := context.WithCancelCause(t.Context())
	cause := errors.New("superseded")
	err = box.Run(ctx, usual(), strings.NewReader("hang\n"), writer(func([]byte) { end(cause) }))
	require.ErrorIs(t, err, cause)
}

// writer is called with what is written.
type writer func([]byte)

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// TestKilledParent kills a process that waits for a child: the child ends too, and the next process
// removes its folder.
func TestKilledParent(t *testing.T) {
	folder := t.TempDir()
	first := exec.CommandContext(t.Context(), os.Args[0], parent, folder)
	out, err := first.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, first.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ") // a zombie has ended
	}, time.Minute, time.Millisecond)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 1)
	_, err = sandbox.Open(folder)
	require.NoError(t, err)
	left, err = os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}
