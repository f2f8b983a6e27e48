package injection_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

var update = flag.Bool("update", false, "write the goldens anew") //nolint:gochecknoglobals // a flag

// A pod of a release that set no default container has no record of one: what its author
// chose stays.
func TestUninjectKeepsTheDefaultContainer(t *testing.T) {
	old := toJSON(t, `{apiVersion: v1, kind: Pod, metadata: {name: web, annotations: {injector.tengu.io/status: injected,
  kubectl.kubernetes.io/default-container: app}, labels: {tengu.io/injected: "true"}},
  spec: {initContainers: [{name: relation-agent, image: agent}], containers: [{name: log, image: log}, {name: app, image: app}]}}`)
	back, err := injection.Uninject(old)
	require.NoError(t, err)
	assert.Contains(t, string(back), `"kubectl.kubernetes.io/default-container":"app"`)
}

// TestInjectGoldens shows what is injected where (INJECTION.md I3, I4, I8, I14,
// I15, I16, SAFETY.md P9, I18, I20, I29). Each archive holds why it is there, a
// manifest, perhaps a tenguconfig.yaml, and what comes of it.
func TestInjectGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/inject/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			config, err := injection.ParseConfig([]byte(parts["tenguconfig.yaml"]))
			require.NoError(t, err)
			in := toJSON(t, parts["manifest.yaml"])
			s := injection.Settings{Config: config, Namespace: "orcon-system", Trust: "PEM\n", ControllerIP: "10.96.0.7", Fields: library(t)}
			out, decision, err := injection.Inject(s, in, nil)
			require.NoError(t, err)
			require.NoError(t, decision.Refused)
			again, _, err := injection.Inject(s, out, nil)
			require.NoError(t, err)
			assert.JSONEq(t, string(out), string(again), "INJECTION.md I6: twice is once")
			back, err := injection.Uninject(out)
			require.NoError(t, err)
			assert.JSONEq(t, string(in), string(back), "INJECTION.md I15: uninject undoes it")
			told := ""
			for _, p := range decision.Told {
				told += p.Error() + "\n"
			}
			got := []txtar.File{{Name: "injected.yaml", Data: []byte(toYAML(t, out))}, {Name: "told", Data: []byte(told)}}
			if *update {
				kept := []txtar.File{}
				for _, f := range archive.Files {
					if f.Name != "injected.yaml" && f.Name != "told" {
						kept = append(kept, f)
					}
				}
				archive.Files = append(kept, got...)
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o600))
				return
			}
			assert.Equal(t, parts["injected.yaml"], string(got[0].Data), string(archive.Comment))
			assert.Equal(t, parts["told"], told, string(archive.Comment))
		})
	}
}

func toJSON(t *testing.T, text string) []byte {
	t.Helper()
	var v any
	require.NoError(t, yaml.Unmarshal([]byte(text), &v))
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return out
}

func toYAML(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	var out strings.Builder
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	require.NoError(t, e.Encode(whole(v)))
	return out.String()
}

// whole turns numbers without a fraction into integers, for people to read.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = whole(v[key])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}
