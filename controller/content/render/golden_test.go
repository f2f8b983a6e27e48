package render_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

//nolint:gochecknoglobals // a flag
var update = flag.Bool("update", false, "write what comes into testdata, to be read")

// fixture is a bundle of an archive in testdata: its files below in/, how it is
// rendered, and what must come.
type fixture struct {
	tree    bundle.Tree
	options content.Options
	want    string
}

func newFixture(t *testing.T, archive *txtar.Archive) fixture {
	t.Helper()
	f := fixture{}
	for _, file := range archive.Files {
		name, text := file.Name, file.Data
		switch {
		case strings.HasPrefix(name, "in/"):
			require.NoError(t, f.tree.Add(strings.TrimPrefix(name, "in/"), bundle.File{Content: text}))
		case name == "values.yaml":
			f.options.Values = append(f.options.Values, content.ValuesFile{Name: name, Text: text})
		case name == "options":
			values := f.options.Values
			require.NoError(t, yaml.UnmarshalStrict(text, &f.options))
			f.options.Values = values
		case name == "want":
			f.want = string(text)
		default:
			require.Fail(t, "a file of no use", name)
		}
	}
	return f
}

// Each format gives exactly these objects, each time.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			f := newFixture(t, archive)
			rendered, err := render.Render(t.Context(), f.tree, f.options)
			require.NoError(t, err)
			_, err = bundle.Order(rendered.Objects)
			require.NoError(t, err, "what is rendered can be put in order")
			got := printed(t, rendered)
			if *update {
				archive.Files[len(archive.Files)-1].Data = []byte(got)
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o600))
			}
			assert.Equal(t, f.want, got)
			again, err := render.Render(t.Context(), f.tree, f.options)
			require.NoError(t, err)
			assert.Equal(t, rendered, again)
		})
	}
}

// printed returns all that a rendering says, but for its digest.
func printed(t *testing.T, r render.Rendered) string {
	t.Helper()
	var out bytes.Buffer
	for _, note := range r.Notes {
		out.WriteString("# " + note + "\n")
	}
	for _, o := range r.Objects {
		text, err := o.Canonical()
		require.NoError(t, err)
		text, err = yaml.JSONToYAML(text)
		require.NoError(t, err)
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.String()
}
