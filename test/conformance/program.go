package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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
)

const (
	// burstSize is how much a burst is, in bytes.
	burstSize = 10 << 20
	// stopped is the exit code after SIGTERM.
	stopped = 9
)

// Main is the program that runs as a template. It returns the exit code.
func Main(args []string, out, problems io.Writer) int {
	if len(args) == 0 {
		fmt.Fprintln(problems, "say what to do: look, exit CODE, kill, burst, stop or deaf")
		return 1
	}
	switch args[0] {
	case look:
		text, err := json.MarshalIndent(inside(), "", "  ")
		if err != nil {
			fmt.Fprintln(problems, err)
			return 1
		}
		fmt.Fprintln(out, string(text))
		return 0
	case exit:
		code, err := strconv.Atoi(strings.Join(args[1:], ""))
		if err != nil {
			fmt.Fprintln(problems, err)
			return 1
		}
		leave("exit")
		return code
	case kill:
		leave("kill")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case burst:
		line := strings.Repeat("x", 1023) + "\n"
		for range burstSize / len(line) {
			fmt.Fprint(out, line)
		}
		fmt.Fprint(problems, "problem\n")
		return 0
	}
	return await(args[0], problems)
}

// await waits for a signal.
func await(how string, problems io.Writer) int {
	signals := make(chan os.Signal, 1)
	switch how {
	case stop:
		signal.Notify(signals, syscall.SIGTERM)
		leave("ready")
		<-signals
		leave("term")
		return stopped
	case deaf:
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("/proc/self/exe", hang)
		child.Env = os.Environ()
		if err := child.Start(); err != nil {
			fmt.Fprintln(problems, err)
			return 1
		}
		leave("ready")
		select {}
	case hang:
		signal.Ignore(syscall.SIGTERM)
		for {
			leave("hang")
			<-time.After(10 * time.Millisecond)
		}
	}
	fmt.Fprintf(problems, "%q is unknown: say look, exit CODE, kill, burst, stop or deaf\n", how)
	return 1
}

// leave writes a file into the state. An error shows as a file that is missing.
func leave(name string) {
	file := filepath.Join(os.Getenv(contract.VariableState), name)
	_ = os.WriteFile(file+".new", []byte(time.Now().Format(time.RFC3339Nano)), 0o600)
	_ = os.Rename(file+".new", file) // a process that is killed leaves whole files
}
