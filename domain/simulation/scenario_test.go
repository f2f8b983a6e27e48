package simulation

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what comes where scenarios expect something; read each line of the difference") //nolint:gochecknoglobals // a flag

// enough is how many scenarios there must be (issue 3).
const enough = 40

// Each file shows something of the rules that its first line names, and its record
// replays to its bags after every step.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(files), enough)
	cites := regexp.MustCompile(`\((RELATIONS|SAFETY|INJECTION)\.md [A-Z]\d`)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			first, _, _ := strings.Cut(string(text), "\n\n")
			assert.Regexp(t, cites, strings.ReplaceAll(first, "\n# ", " "), "it begins with what it shows, and of which rules")
			if *update {
				rewrite(t, file, string(text))
				return
			}
			s, err := Parse(file, text)
			require.NoError(t, err)
			assert.NoError(t, Run(s, nil))
		})
	}
}

// rewrite puts what comes in the place of what was expected.
func rewrite(t *testing.T, file, text string) {
	t.Helper()
	s, err := Parse(file, []byte(text))
	require.NoError(t, err)
	lines := strings.SplitAfter(text, "\n")
	w := newWorld(s, nil)
	for _, step := range s.steps {
		w.tell(w.now, "— %s", step.text)
		err := step.verb.do(w, step)
		d, differs := errors.AsType[*differenceError](err)
		if !differs {
			require.NoError(t, w.orMismatch(step, err))
			continue
		}
		for i := range step.expected {
			lines[step.line+i] = ""
		}
		if len(d.got) == 0 {
			d.got = []string{"nothing"}
		}
		lines[step.line-1] += "> " + strings.Join(d.got, "\n> ") + "\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600))
}

func (w *world) orMismatch(s step, err error) error {
	if err == nil {
		return nil
	}
	return w.mismatch(s, err)
}
