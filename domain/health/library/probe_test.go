package library_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/health/library"
)

// Each shipped probe names its source, a file of a repository at a commit or a version, and there are cases that show
// it right (CONTENT.md H4).
func TestProbes(t *testing.T) {
	all, err := library.Probes()
	require.NoError(t, err)
	assert.Greater(t, len(all), 20)
	for _, p := range all {
		assert.Regexp(t, `^https://github\.com/\S+/blob/([0-9a-f]{40}|\S*v[0-9.]+)/\S+( \(v[0-9.]+\))?$`, p.Source, p.Kind)
		cases, err := filepath.Glob(filepath.Join("..", "testdata", p.Group, p.Kind, "*.yaml"))
		require.NoError(t, err)
		assert.NotEmpty(t, cases, "%s.%s has no case", p.Kind, p.Group)
	}
	assert.Len(t, library.Version(), 12)
}

func TestParse(t *testing.T) {
	tests := map[string]struct{ why, file, text, want string }{
		"Good":    {"it is one", "race.example.org/Engine.yaml", "ready: 'true'\nignores: [Stalled]", ""},
		"Unknown": {"a field that is misspelt would have no effect", "race.example.org/Engine.yaml", "ready: 'true'\nreddy: 'true'", "Engine.yaml: yaml: unmarshal errors:\n  line 2: field reddy not found"},
		"Status":  {"a missing status is not evidence", "race.example.org/Engine.yaml", "ready: 'true'\nignores: [status]", "write statusless"},
		"Never":   {"it could only hold objects up", "race.example.org/Engine.yaml", "failed: 'true'", "add ready"},
		"Nothing": {"an empty file is a mistake", "race.example.org/Engine.yaml", "", "Engine.yaml: EOF"},
		"Where":   {"the kind is read from the path", "Engine.yaml", "ready: 'true'", "name the file GROUP/Kind.yaml"},
		"What":    {"a file of another type", "race.example.org/Engine.txt", "ready: 'true'", "name the file GROUP/Kind.yaml"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			p, err := library.Parse(tc.file, []byte(tc.text))
			if tc.want != "" {
				require.ErrorContains(t, err, tc.want, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			assert.Equal(t, "Engine.race.example.org", p.Kind+"."+p.Group)
		})
	}
}

// Any text is a probe or an error.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("argoproj.io", "Workflow.yaml"))
	require.NoError(f, err)
	f.Add("argoproj.io/Workflow.yaml", text)
	f.Fuzz(func(t *testing.T, file string, text []byte) {
		if p, err := library.Parse(file, text); err == nil {
			assert.NotEmpty(t, p.Ready)
			assert.NotEmpty(t, p.Kind)
		}
	})
}
