package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// maxSaid is the part of a handler's standard error that the agent's status shows, in bytes: its end.
const maxSaid = 400

// lastWords is how long a handler that is interrupted has to end.
const lastWords = 5 * time.Second

// program says what is run for a hook, and in which folder; no command for a hook
// without one.
type program func(hook string) (command []string, folder string)

// programOf returns what "handle FOLDER" and "run COMMAND [ARGUMENTS]" run.
func programOf(command string, words []string) (program, error) {
	switch {
	case command == "run" && len(words) == 0:
		return nil, errors.New("a command is missing: relation-agent run COMMAND [ARGUMENTS]")
	case command == "run":
		return func(string) ([]string, string) { return words, "" }, nil // as it is (SAFETY.md I24)
	case len(words) != 1:
		return nil, errors.New("a folder is missing: relation-agent handle FOLDER")
	}
	files, err := os.ReadDir(words[0])
	if err != nil {
		return nil, fmt.Errorf("cannot find the handlers: %w: check that tengu.io/handlers names a folder of the image or of a volume", err)
	}
	for _, warning := range misnamed(files) {
		glog.Warning(warning)
	}
	return executables(words[0]), nil
}

// misnamed returns a warning for each file that runs for no event because of its name.
func misnamed(files []fs.DirEntry) []string {
	var warnings []string
	for _, f := range files {
		meant, wrong := tool.Misnamed(f.Name())
		switch {
		case !wrong:
		case meant == "":
			warnings = append(warnings, fmt.Sprintf("handler %s never runs: no event has this name", f.Name()))
		default:
			warnings = append(warnings, fmt.Sprintf("handler %s never runs: no event has this name; did you mean %s?", f.Name(), meant))
		}
	}
	return warnings
}

// executables runs for each hook the file of a folder that is called so.
func executables(folder string) program {
	return func(hook string) ([]string, string) {
		path := filepath.Join(folder, hook)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, ""
		}
		return []string{path}, folder
	}
}

// handle returns what handles an event by the program.
func (of program) handle(ctx context.Context, turn agent.Turn) agent.Done {
	done := agent.Done{Context: turn.Context}
	if command, folder := of(turn.Hook); len(command) > 0 {
		done.Handled, done.Failure = true, runHook(ctx, command, folder, turn)
	}
	return done
}

// reaping returns a handler after which what earlier events have left running, and has ended, is waited for: the runner is
// the first process of its container, so that the children of those that have ended are its own. It runs nothing else.
func reaping(handle func(context.Context, agent.Turn) agent.Done) func(context.Context, agent.Turn) agent.Done {
	return func(ctx context.Context, turn agent.Turn) agent.Done {
		done := handle(ctx, turn)
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 && !errors.Is(err, syscall.EINTR) {
				return done
			}
		}
	}
}

// runHook runs the command of an event and returns why it has failed, or nothing.
func runHook(ctx context.Context, command []string, folder string, turn agent.Turn) (failure string) {
	said := &tail{}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // what the pod's author wrote
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = lastWords
	cmd.Dir, cmd.Env = folder, environment(turn.Env)
	cmd.Stdout, cmd.Stderr = os.Stdout, io.MultiWriter(os.Stderr, said)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		return "" // it has succeeded, and left a child that holds what it writes to
	case errors.As(err, &exit):
		return strings.TrimSuffix(ending(exit)+": "+said.String(), ": ")
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("cannot run %s: it is not executable: use chmod +x in the image, or defaultMode: 0755 in its volume", command[0])
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return fmt.Sprintf("cannot run %s: the image does not have %s", command[0], missing(cmd.Path))
	case err != nil:
		return fmt.Sprintf("cannot run %s: %v", command[0], err)
	default:
		return ""
	}
}

// missing returns what a command lacks that was not found when it was run.
func missing(path string) string {
	if _, err := os.Stat(path); err == nil {
		return "the interpreter that its first line names"
	}
	return "it"
}

// ending returns how a command ended: by its exit code, or by the signal that ended it.
func ending(exit *exec.ExitError) string {
	if exit.Exited() {
		return fmt.Sprintf("exit code %d", exit.ExitCode())
	}
	return exit.String()
}

// environment is the container's own with what the turn says, and the tools where
// a shell finds them.
func environment(turn map[string]string) []string {
	env := append(os.Environ(), "PATH="+filepath.Dir(toolsBinary)+":"+os.Getenv("PATH"))
	for name, value := range turn {
		env = append(env, name+"="+value)
	}
	return env
}

// tail keeps the end of the text written to it.
type tail struct {
	bytes.Buffer
	cut bool
}

// Write keeps the last maxSaid bytes.
func (t *tail) Write(p []byte) (int, error) {
	n, err := t.Buffer.Write(p)
	if over := t.Len() - maxSaid; over > 0 {
		t.Next(over)
		t.cut = true
	}
	return n, err
}

// String returns the output without invalid text. A mark replaces the word that was cut: part of a secret would not be hidden.
func (t *tail) String() string {
	text := strings.ToValidUTF8(t.Buffer.String(), "")
	if t.cut {
		end := strings.IndexAny(text, " \t\n")
		if text = strings.TrimSpace(text[max(end, 0):]); end < 0 || text == "" {
			return ""
		}
		return status.Cut + text
	}
	return strings.TrimSpace(text)
}
