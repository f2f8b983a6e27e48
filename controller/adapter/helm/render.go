package helm

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const (
	// Renderer names what renders, with its version: another may render otherwise.
	Renderer = "helm v4.3.1"
	// kubeVersion is the version that templates see, for any cluster: the oldest that Orcon runs on. The result does
	// not depend on the cluster.
	kubeVersion = "v1.35.0"
)

// Release holds the inputs of templates besides the chart.
type Release struct {
	// Name is the release's; "" is the chart's own.
	Name string
	// Namespace is where its objects go that name none.
	Namespace string
	// Values are merged over those of the chart.
	Values map[string]any
	// Once leaves out the second rendering, which finds what renders differently each time.
	Once bool
}

// Render returns the manifests that the chart's templates give, with its definitions of kinds: files below the
// chart's name, as Helm shows them. Templates always see a first installation. The notes name templates that give
// another result each time, and those that look up objects, since no cluster is asked.
func (c *Chart) Render(ctx context.Context, r Release) (bundle.Tree, []string, error) {
	first, asked, err := c.render(ctx, r)
	if err != nil {
		return bundle.Tree{}, nil, err
	}
	second := first
	if !r.Once { // all is done anew: templates may change the values that they are given
		if second, _, err = c.render(ctx, r); err != nil {
			return bundle.Tree{}, nil, err
		}
	}
	var notes []string
	for _, name := range first.Paths() {
		one, _ := first.File(name)
		if other, _ := second.File(name); string(one.Content) != string(other.Content) {
			notes = append(notes,
				fmt.Sprintf("%s renders differently each time (random values, or the current time): set such values to keep them", name))
		}
	}
	if asked {
		notes = append(notes, "templates look up objects of the cluster; every lookup returned nothing")
	}
	return first, notes, nil
}

// render renders once, and says whether a template has asked a cluster.
func (c *Chart) render(ctx context.Context, r Release) (bundle.Tree, bool, error) {
	loaded, err := c.load()
	if err != nil {
		return bundle.Tree{}, false, err
	}
	values, err := c.valuesFor(loaded, r)
	if err != nil {
		return bundle.Tree{}, false, err
	}
	asked := false
	e := engine.Engine{CustomTemplateFuncs: template.FuncMap{
		"lookup": func(_, _, _, _ string) (map[string]any, error) {
			asked = true
			return map[string]any{}, nil
		},
	}}
	texts, err := e.RenderWithContext(ctx, loaded, values)
	if err != nil && locatable(loaded) {
		err = located(loaded.Name(), err)
	}
	if err != nil {
		return bundle.Tree{}, false, fmt.Errorf("cannot render chart %s: %w", loaded.Name(), err)
	}
	manifests, err := collect(loaded, texts)
	return manifests, asked, err
}

// located returns an error of a template with its place, as path:line:column. A message follows its
// place, so that none can be taken for one.
func located(chart string, err error) error {
	place := regexp.MustCompile(regexp.QuoteMeta(chart) + `/[\w./-]+:\d+(:\d+)?`)
	if at := place.FindString(err.Error()); at != "" {
		return bundle.Located(at, err)
	}
	return err
}

// locatable reports whether each place in a chart is one for located. It would take a message for the place of a template
// whose name has other characters, and the message may quote a Secret (TRUST.md R5).
func locatable(c *chart.Chart) bool {
	usual := regexp.MustCompile(`^[\w./-]+$`)
	return !slices.ContainsFunc(c.Templates, func(t *common.File) bool { return !usual.MatchString(path.Join(c.ChartFullPath(), t.Name)) }) &&
		!slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return !locatable(d) })
}

// valuesFor returns what templates see, once the values fit the chart's schemas.
func (c *Chart) valuesFor(loaded *chart.Chart, r Release) (common.Values, error) {
	version, err := common.ParseKubeVersion(kubeVersion)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(loaded, r.Values); err != nil {
		return nil, fmt.Errorf("cannot resolve the dependencies of chart %s: %w", loaded.Name(), err)
	}
	release := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	if release.Name == "" {
		release.Name = loaded.Name()
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	const withoutSchemas = true // Helm would fetch what they refer to
	values, err := util.ToRenderValuesWithSchemaValidation(loaded, r.Values, release, capabilities, withoutSchemas)
	if err != nil {
		return nil, fmt.Errorf("cannot merge the values of chart %s: %w", loaded.Name(), err)
	}
	all, err := values.Table("Values")
	if err != nil {
		return nil, fmt.Errorf("cannot merge the values of chart %s: %w", loaded.Name(), err)
	}
	return values, c.schemas.validate(loaded, all)
}

// collect returns what is to be applied: definitions, and what came of each template.
func collect(c *chart.Chart, texts map[string]string) (bundle.Tree, error) {
	var all bundle.Tree
	for _, d := range c.CRDObjects() {
		if err := all.Add(d.Filename, bundle.File{Content: d.File.Data}); err != nil {
			return all, err
		}
	}
	for name, text := range texts {
		if path.Base(name) == "NOTES.txt" || strings.TrimSpace(text) == "" {
			continue
		}
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			name += ".yaml" // whatever a template is called, Helm takes it for a manifest
		}
		if err := all.Add(name, bundle.File{Content: []byte(divided(text))}); err != nil {
			return all, err
		}
	}
	return all, nil
}

// divided returns the output of a template with each separator on a line of its own. Helm begins a document at any line
// that begins with ---, also ---apiVersion and ---# comment, which YAML reads as text (CONTENT.md X1).
func divided(text string) string {
	return regexp.MustCompile(`(?m)^---[ \t]*(\S)`).ReplaceAllString(text, "---\n$1")
}
