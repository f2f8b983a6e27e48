package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// argument starts the program as a child.
	argument = "orcon-sandbox"
	// scratch begins the names of the folders of children.
	scratch = "child-"
	// maxScratch is how many bytes a file of a child may have.
	maxScratch = 1 << 20
	// maxComplaint is how much of a child's standard error is looked at.
	maxComplaint = 4 << 10
)

// Box runs children.
type Box struct {
	// Folder holds a folder for each child while it runs.
	Folder string
}

// Open returns a box whose folder exists, without what children of an earlier process left there. From
// then on no child inherits a descriptor.
func Open(folder string) (Box, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Box{}, fmt.Errorf("cannot make the folder of child processes: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(folder, scratch+"*"))
	for _, one := range left {
		err = errors.Join(err, os.RemoveAll(one))
	}
	if err != nil {
		return Box{}, fmt.Errorf("cannot sweep the folder of child processes: %w", err)
	}
	// The Go runtime opens its own descriptors so; those that this process was started with may be otherwise.
	if err := unix.CloseRange(firstOther, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return Box{}, fmt.Errorf("cannot keep descriptors from child processes: %w", err)
	}
	return Box{Folder: folder}, nil
}

// firstOther is the first descriptor after the standard ones.
const firstOther = 3

// Run has a child read in and write out, and returns when it has ended and its folder is gone. The child
// and all that it may have started are killed at the end of the context, at a limit (LimitError), and
// when this process dies. in is not read before the limits hold.
func (b Box) Run(ctx context.Context, l Allowance, in io.Reader, out io.Writer) (err error) {
	folder, err := os.MkdirTemp(b.Folder, scratch)
	if err != nil {
		return fmt.Errorf("cannot make a folder for a child process: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ctx, end := context.WithTimeoutCause(ctx, l.Wall, l.wall())
	defer end()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// The kernel kills the child with the thread that started it, which therefore must not end before.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var complaint head
	child := command(ctx, folder)
	child.Stdout, child.Stderr = &bounded{out: out, left: l.Output, exceeded: func() { stop(l.output()) }}, &complaint
	input, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		return fmt.Errorf("cannot start a child process: %w", err)
	}
	if err := l.apply(child.Process.Pid); err != nil {
		stop(err)
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(input, in)
		copied <- errors.Join(err, input.Close())
	}()
	err = child.Wait()
	failed := <-copied
	if ended := context.Cause(ctx); err != nil && ended != nil {
		return ended
	}
	if err != nil {
		return l.reached(err, complaint.String())
	}
	if failed != nil && !errors.Is(failed, syscall.EPIPE) && !errors.Is(failed, os.ErrClosed) {
		return fmt.Errorf("cannot write to a child process: %w", failed)
	}
	return nil
}

// command returns the program as a child that works in a folder.
func command(ctx context.Context, folder string) *exec.Cmd {
	child := exec.CommandContext(ctx, "/proc/self/exe", argument)
	child.Dir, child.Env = folder, environment(folder)
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	child.Cancel = func() error { return syscall.Kill(-child.Process.Pid, syscall.SIGKILL) }
	return child
}

// passed are the variables that a child needs to reach servers as its parent does.
const passed = "HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy " +
	certificateFile + " " + certificateFolder

const (
	certificateFile   = "SSL_CERT_FILE"
	certificateFolder = "SSL_CERT_DIR"
)

func environment(folder string) []string {
	all := []string{"HOME=" + folder, "TMPDIR=" + folder}
	for name := range strings.FieldsSeq(passed) {
		if value, set := os.LookupEnv(name); set {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// bounded is a writer that takes so many bytes.
type bounded struct {
	out      io.Writer
	left     int64
	exceeded func()
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		b.exceeded()
		return 0, io.ErrShortWrite
	}
	return b.out.Write(p)
}

// head keeps the first bytes that are written.
type head struct{ bytes.Buffer }

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), maxComplaint-h.Len())])
	return len(p), nil
}
