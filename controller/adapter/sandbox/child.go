package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// maxStack is how large the stack of one goroutine of a child may grow, in bytes.
const maxStack = 64 << 20

// Main does a child's work and ends the process if it was started as a child by Run; else it does nothing.
// Programs that run children call it first of all. The work begins when its input does, with its limits.
func Main(work func(in io.Reader, out io.Writer) error) {
	if len(os.Args) != 2 || os.Args[1] != argument {
		return
	}
	if err := child(work); err != nil {
		fmt.Fprintln(os.Stderr, "the child process failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(work func(io.Reader, io.Writer) error) error {
	spent := make(chan os.Signal, 1)
	signal.Notify(spent, unix.SIGXCPU)
	go func() {
		<-spent
		os.Exit(outOfTime)
	}()
	if err := confine(os.Getenv("TMPDIR")); err != nil {
		return err
	}
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	if _, err := in.Peek(1); err != nil { // the parent writes once the limits are set
		return errors.New("nothing was read")
	}
	var memory unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &memory); err != nil {
		return fmt.Errorf("cannot read the limit of memory: %w", err)
	}
	debug.SetMemoryLimit(int64(memory.Cur / 4 * 3)) //nolint:gosec // a size; what the heap does not use of its arenas counts too
	debug.SetMaxStack(maxStack)
	return errors.Join(work(in, out), out.Flush())
}

// confine leaves the process its own folder, and what the system needs to reach servers: no other file
// can be opened, such as the token of its parent's account, no program started, and no process outside
// signalled. Older kernels restrict less: Landlock is in Linux 5.13 and newer, signals in 6.12 and newer.
func confine(folder string) error {
	rights := landlock.Config{HandledAccessFS: landlock.V6.HandledAccessFS, Scoped: landlock.V6.Scoped}.BestEffort()
	files := landlock.ROFiles("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/localtime", "/dev/null")
	folders := landlock.RODirs("/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates",
		"/usr/local/share/ca-certificates", "/usr/share/zoneinfo")
	rules := []landlock.Rule{landlock.RWDirs(folder), files.IgnoreIfMissing(), folders.IgnoreIfMissing()}
	if file := os.Getenv(certificateFile); file != "" {
		rules = append(rules, landlock.ROFiles(file).IgnoreIfMissing())
	}
	for _, folder := range filepath.SplitList(os.Getenv(certificateFolder)) {
		rules = append(rules, landlock.RODirs(folder).IgnoreIfMissing())
	}
	if err := rights.Restrict(rules...); err != nil {
		return fmt.Errorf("cannot restrict the child process: %w", err)
	}
	return nil
}
