package helm

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/ignore"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Chart is a chart that can be rendered many times, also at the same time.
type Chart struct {
	files   []*archive.BufferedFile
	schemas *schemas
}

// Load reads a chart of a tree's files, but for those that its .helmignore names, and
// checks that it can be rendered here and by itself.
func Load(tree *bundle.Tree) (*Chart, error) {
	folder, ok := bundle.ChartFolder(tree)
	if !ok {
		return nil, fmt.Errorf("cannot find Chart.yaml at the top of the content: name the folder that has it")
	}
	files, err := tree.Sub(folder)
	if err != nil {
		return nil, err
	}
	rules, err := ignored(&files)
	if err != nil {
		return nil, err
	}
	c := Chart{schemas: &schemas{}}
	for _, name := range files.Paths() {
		if f, _ := files.File(name); !ignores(rules, name) {
			c.files = append(c.files, &archive.BufferedFile{Name: name, Data: bytes.TrimPrefix(f.Content, []byte("\xef\xbb\xbf"))})
		}
	}
	loaded, err := c.load()
	if err != nil {
		return nil, err
	}
	return &c, check(loaded)
}

// load returns the chart for one rendering, which changes it.
func (c *Chart) load() (*chart.Chart, error) {
	loaded, err := loader.LoadFiles(c.files)
	if err != nil {
		return nil, fmt.Errorf("cannot read the chart: %w", err)
	}
	return loaded, nil
}

func ignored(files *bundle.Tree) (*ignore.Rules, error) {
	f, _ := files.File(ignore.HelmIgnore)
	rules, err := ignore.Parse(bytes.NewReader(f.Content))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", ignore.HelmIgnore, err)
	}
	rules.AddDefaults()
	return rules, nil
}

// ignores reports whether a rule is for a file or for a folder that it lies in.
func ignores(rules *ignore.Rules, name string) bool {
	if rules.Ignore(name, entry{name: path.Base(name)}) {
		return true
	}
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if rules.Ignore(at, entry{name: path.Base(at), folder: true}) {
			return true
		}
	}
	return false
}

// entry is the part of a file that rules read.
type entry struct {
	fs.FileInfo
	name   string
	folder bool
}

// Name returns the last part of the path.
func (e entry) Name() string { return e.name }

// IsDir reports whether it is a folder.
func (e entry) IsDir() bool { return e.folder }

// check refuses what Helm's client refuses before it renders.
func check(c *chart.Chart) error {
	if c.Metadata.Type == "library" {
		return fmt.Errorf("cannot render chart %s: it is a library, for other charts: render one of those", c.Name())
	}
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, kubeVersion) {
		return fmt.Errorf("cannot render chart %s: its kubeVersion %q excludes %s, which Orcon asks for at least: take a newer chart", c.Name(), want, kubeVersion)
	}
	there := map[string]bool{}
	for _, d := range c.Dependencies() {
		there[d.Name()] = true
	}
	var missing []string
	for _, d := range c.Metadata.Dependencies {
		if !there[d.Name] {
			missing = append(missing, d.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("cannot render chart %s: its folder charts/ lacks %s: run helm dependency update, and pack the chart with it", c.Name(), strings.Join(missing, ", "))
	}
	return nil
}
