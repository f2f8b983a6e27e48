package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Runner runs the commands of pages.
type Runner struct {
	// Root is the repository.
	Root string
	// Programs are files that commands call by name, or by bin/NAME.
	Programs []string
	// Env is added to the environment of commands.
	Env []string
	// Patience is how long a command that only reads may print something else.
	Patience time.Duration
}

// limit ends a block whose commands hang: most have limits of their own.
const limit = 15 * time.Minute

// Run runs the blocks of a page from top to bottom, and fails the test at the
// first that does not do what the page shows.
func (r Runner) Run(t *testing.T, p Page) {
	t.Helper()
	dir := r.checkout(t)
	for _, b := range p.Blocks {
		if !b.Runs() {
			continue
		}
		for _, c := range CommandsOf(b) {
			if err := r.command(t.Context(), dir, c); err != nil {
				t.Fatalf("%s:%d: $ %s\n%v", p.File, c.Line, c.Script, err)
			}
		}
	}
}

// checkout copies what the repository holds into a folder of the test, with the programs in bin/, but not code
// and the examples of its tests: these are seven of eight files, and no page needs them.
func (r Runner) checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	copied := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c",
		`git ls-files -coz --exclude-standard -- ':!*.go' ':!controller' ':!test' ':!domain/health' |
			while IFS= read -rd '' f; do [ ! -f "$f" ] || printf '%s\0' "$f"; done |
			xargs -0 cp --parents -t "$1"`, "copy", dir)
	copied.Dir = r.Root
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("cannot copy the checkout: %v: %s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, program := range r.Programs {
		if err := os.Symlink(program, filepath.Join(dir, "bin", filepath.Base(program))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// command runs one command until it does what the page shows, once if it may
// change something.
func (r Runner) command(ctx context.Context, dir string, c Command) error {
	begin := time.Now()
	for {
		out, err := r.once(ctx, dir, c)
		if err == nil || !onlyReads(c.Script) || time.Since(begin) > r.Patience {
			return explain(c, out, err)
		}
		<-time.After(250 * time.Millisecond)
	}
}

func explain(c Command, out string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nthe page shows:\n%s\nit printed:\n%s", err, c.Want, out)
}

// onlyReads reports whether a command may be repeated.
func onlyReads(script string) bool {
	reads := `^(kubectl (-n \S+ )?(get|describe|logs|exec|events)|orcon (status|list|history|record|check|interfaces|diff)|bin/orcon check)\b`
	return regexp.MustCompile(reads).MatchString(script)
}

// once runs a command and returns what it printed and how that differs from
// the page.
func (r Runner) once(ctx context.Context, dir string, c Command) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", c.Script)
	bash.Dir = dir
	bash.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	bash.Env = append(bash.Env, r.Env...)
	bash.WaitDelay = time.Second
	var out bytes.Buffer
	bash.Stdout, bash.Stderr = &out, &out
	err := bash.Run()
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		return out.String(), fmt.Errorf("cannot run it: %w", err)
	}
	switch {
	case ctx.Err() != nil:
		return out.String(), fmt.Errorf("it was ended after %s", limit)
	case code != c.Exit:
		return out.String(), fmt.Errorf("it ended with code %d, not %d", code, c.Exit)
	case !Matches(c.Want, out.String()):
		return out.String(), errors.New("it printed something else")
	}
	return out.String(), nil
}

// Namespaces returns the namespaces that a page's commands create, so that
// whoever runs them can remove what a failure leaves.
func Namespaces(p Page) []string {
	var all []string
	made := regexp.MustCompile(`kubectl create (?:namespace|ns) (\S+)`)
	for _, b := range p.Blocks {
		if !b.Runs() {
			continue
		}
		for _, found := range made.FindAllStringSubmatch(b.Text, -1) {
			all = append(all, strings.Trim(found[1], `'"`))
		}
	}
	return all
}
