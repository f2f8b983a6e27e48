package selftest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// What the program does, by its first argument.
const (
	// look prints the report of the checks from within.
	look = "look"
	// exit ends with a code.
	exit = "exit"
	// kill ends by SIGKILL.
	kill = "kill"
	// burst writes much output.
	burst = "burst"
	// stop waits for SIGTERM and ends with a code of its own; deaf does not end, and neither does its child.
	stop = "stop"
	deaf = "deaf"
	// hang is the child.
	hang = "hang"
	// late ends when the state has file go, and leaves much state, whose capture takes a while.
	late = "late"
	// await waits until the state has a file; release leaves file go and waits until late has ended. Executors use them in
	// a container that has no shell.
	await   = "await"
	release = "release"
)

// line is a line of a burst.
var line = strings.Repeat("x", 1023) + "\n" //nolint:gochecknoglobals // a constant

const (
	// burstSize is how much a burst is, in bytes.
	burstSize = 10 << 20
	// lateSize is how much state late leaves, in bytes.
	lateSize = 6 << 20
	// stopped is the exit code after SIGTERM.
	stopped = 9
)

// usage names what the program can do.
const usage = "say what to do: look, exit CODE, kill, burst, stop, deaf, late, await FILE or release"

// Main is the program that runs as a template. It returns the exit code.
func Main(args []string, out, problems io.Writer) int {
	code, err := perform(args, out, problems)
	if err != nil {
		fmt.Fprintln(problems, err)
		return 1
	}
	return code
}

// perform does what the arguments name.
func perform(args []string, out, problems io.Writer) (code int, err error) {
	what, rest := strings.Join(args[:min(1, len(args))], ""), strings.Join(args[min(1, len(args)):], "")
	switch what {
	case look:
		text, err := json.MarshalIndent(inside(), "", "  ")
		fmt.Fprintln(out, string(text))
		return 0, err
	case exit:
		code, err := strconv.Atoi(rest)
		if err == nil {
			leave("exit")
		}
		return code, err
	case kill:
		leave("kill")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case burst:
		fmt.Fprint(problems, "problem\n")
		_, err := fmt.Fprint(out, strings.Repeat(line, burstSize/len(line)))
		return 0, err
	case stop, deaf, hang:
		return endure(what)
	case late:
		return 0, leaveLate()
	case await:
		until(func() bool { return left(rest) })
		return 0, nil
	case release:
		leave(Released)
		until(func() bool { return !alive() })
		return 0, nil
	}
	return 1, errors.New(usage)
}

// endure waits for a signal.
func endure(how string) (code int, err error) {
	signals := make(chan os.Signal, 1)
	if how == stop {
		signal.Notify(signals, syscall.SIGTERM)
		leave("ready")
		<-signals
		leave("term")
		return stopped, nil
	}
	signal.Ignore(syscall.SIGTERM)
	if how == deaf {
		child := exec.Command("/proc/self/exe", append(slices.Clone(os.Args[1:len(os.Args)-1]), hang)...)
		child.Env = os.Environ()
		if err := child.Start(); err != nil {
			return 0, err
		}
		until(func() bool { return left(hang) })
		leave("ready")
	}
	until(func() bool {
		if how == hang {
			leave(hang)
		}
		return false
	})
	return 0, nil
}

// Released is the file of the state for which late waits.
const Released = "go"

// process is the file of the state that has the ID of late.
const process = "process"

// leaveLate leaves much state when it is released. It cannot be compressed.
func leaveLate() error {
	if err := os.WriteFile(inState(process), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	leave("ready")
	until(func() bool { return left(Released) })
	content := make([]byte, lateSize)
	if _, err := rand.Read(content); err != nil {
		return err
	}
	return os.WriteFile(inState(late), content, 0o600)
}

// alive reports whether late has not ended.
func alive() bool {
	text, err := os.ReadFile(inState(process))
	_, problem := os.Stat("/proc/" + string(text))
	return err == nil && problem == nil
}

// until looks again and again until a condition is met.
func until(met func() bool) {
	for !met() {
		<-time.After(10 * time.Millisecond)
	}
}

// inState returns the path of a file of the state.
func inState(name string) string { return filepath.Join(os.Getenv(contract.VariableState), name) }

// left reports whether the state has a file.
func left(name string) bool {
	_, err := os.Stat(inState(name))
	return err == nil
}

// leave writes a file into the state. An error shows as a file that is missing.
func leave(name string) {
	_ = os.WriteFile(inState(name)+".new", []byte(time.Now().Format(time.RFC3339Nano)), 0o600)
	_ = os.Rename(inState(name)+".new", inState(name)) // a process that is killed leaves whole files
}
