package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/helm"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kustomize"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/plain"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/registryv1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/openshift"
)

// Rendered is the result for a tree.
type Rendered struct {
	Format  bundle.Format
	Objects []bundle.Object
	// Digest is that of all that went in: equal ones give equal objects.
	Digest string
	// Notes tell people what else they should know.
	Notes []string
}

// Render returns the objects of a tree, in the order in which they stand there. That
// there are none is an error: no bundle means that.
func Render(ctx context.Context, tree bundle.Tree, o content.Options) (Rendered, error) {
	p, err := Prepare(tree, o.Path, o.Format)
	if err != nil {
		return Rendered{}, err
	}
	return p.Render(ctx, o)
}

// Output renders a tree for another process.
func Output(ctx context.Context, tree bundle.Tree, o content.Options) (content.Output, error) {
	rendered, err := Render(ctx, tree, o)
	if err != nil {
		return content.Output{}, err
	}
	objects, err := plain.Encode(rendered.Objects)
	return content.Output{Objects: objects, Notes: rendered.Notes}, err
}

// Prepared is a tree that can be rendered many times, also at the same time: what depends on the tree
// alone is done once.
type Prepared struct {
	tree, folder bundle.Tree
	// path and chosen are content.Options.Path and Format.
	path, chosen string
	format       bundle.Format
	digest       func() string
	chart        func() (*helm.Chart, error)
}

// Prepare prepares the folder of a tree, or one file of it, to be rendered (content.Options.Path) in a format
// (content.Options.Format).
func Prepare(tree bundle.Tree, folder, format string) (*Prepared, error) {
	p := &Prepared{tree: tree, path: folder, chosen: format}
	var err error
	if p.folder, err = tree.Sub(folder); err != nil {
		return nil, err
	}
	if p.format, err = bundle.ParseFormat(format, &p.folder); err != nil {
		return nil, err
	}
	if p.format != bundle.Kustomize { // which judges what it reaches
		if err := p.folder.Unlinked(); err != nil {
			return nil, err
		}
	}
	p.digest = sync.OnceValue(p.tree.Digest)
	p.chart = sync.OnceValues(func() (*helm.Chart, error) { return helm.Load(&p.folder) })
	return p, nil
}

// Digest identifies the content of the tree.
func (p *Prepared) Digest() string { return p.digest() }

// Schema returns the values.schema.json of the chart; nil if there is none.
func (p *Prepared) Schema() []byte {
	at, isChart := bundle.ChartFolder(&p.folder)
	f, _ := p.folder.File(path.Join(at, "values.schema.json"))
	if !isChart {
		return nil
	}
	return f.Content
}

// Render returns the objects as the function Render does, with the path and the format that were prepared.
func (p *Prepared) Render(ctx context.Context, o content.Options) (Rendered, error) {
	o.Path, o.Format = p.path, p.chosen
	r := Rendered{Format: p.format}
	if err := r.render(ctx, p, o); err != nil {
		return Rendered{}, fmt.Errorf("cannot render as %s: %w", r.Format, unquoted(o, err))
	}
	return r, nil
}

// unquoted returns an error that quotes no value of a Secret.
func unquoted(o content.Options, err error) error {
	if o.Secret() {
		return bundle.Unquoted(err)
	}
	return err
}

// files returns the values files of a chart.
func files(o content.Options) (all []helm.ValuesFile) {
	for _, f := range o.Values {
		all = append(all, helm.ValuesFile(f))
	}
	return all
}

func (r *Rendered) render(ctx context.Context, p *Prepared, o content.Options) error {
	values, err := helm.Values(files(o), o.Set)
	if err != nil {
		return err
	}
	in := bundle.Input{Content: p.digest(), Path: o.Path, Name: o.Name, Namespace: o.Namespace, Watch: o.Watch,
		ConfigChecksum: o.ConfigChecksum, Values: values, Parameters: o.Parameters, SkipHooks: o.SkipHooks}
	_, isChart := bundle.ChartFolder(&p.folder)
	switch {
	case len(o.Watch) > 0 && r.Format != bundle.RegistryV1:
		err = fmt.Errorf("namespaces to watch are given, which it does not support: leave them out, or choose format %s", bundle.RegistryV1)
	case len(o.SkipHooks) > 0 && r.Format != bundle.Helm:
		err = fmt.Errorf("hooks to leave out are named, and %s has none: remove the names, or choose format %s", r.Format, bundle.Helm)
	case r.Format == bundle.Helm || r.Format == bundle.OpenShiftTemplate && isChart:
		in.Renderer = helm.Renderer
		err = r.helm(ctx, p, helm.Release{Name: o.Name, Namespace: o.Namespace, Values: values, Once: o.Once}, o)
	case len(values) > 0 && r.Format == bundle.OpenShiftTemplate:
		err = errors.New("values are given, but the Template is not part of a chart: give parameters instead")
	case len(values) > 0 && r.Format != bundle.RegistryV1:
		err = fmt.Errorf("values are given, which %s does not support: leave them out, or choose format %s", r.Format, bundle.Helm)
	case r.Format == bundle.Plain || r.Format == bundle.OpenShiftTemplate:
		r.Objects, err = r.manifests(&p.folder, o)
	case r.Format == bundle.Kustomize:
		in.Renderer = kustomize.Renderer
		r.Objects, err = read(kustomize.Render(&p.tree, o.Path))
	default:
		in.Renderer = registryv1.Renderer
		err = r.operator(&p.folder, registryv1.Options{Namespace: o.Namespace, Watch: o.Watch}, values)
	}
	if err != nil {
		return err
	}
	if err := r.check(&p.folder, o); err != nil {
		return err
	}
	if o.ConfigChecksum {
		r.Objects = bundle.Checksummed(r.Objects, o.Namespace)
	}
	if in.Format = r.Format; r.Format == bundle.OpenShiftTemplate {
		in.Renderer = strings.TrimSpace(in.Renderer + " " + openshift.Renderer)
	}
	r.Digest, err = in.Digest()
	return err
}

// check refuses what nothing came of, and parameters without a Template.
func (r *Rendered) check(folder *bundle.Tree, o content.Options) error {
	switch {
	case len(r.Objects) == 0 && !o.Empty:
		return fmt.Errorf("it contains no manifest: manifests end in .yaml, .yml or .json; the files are: %s",
			strings.Join(some(folder.Paths()), ", "))
	case len(o.Parameters) > 0 && !o.IgnoreUnknown && r.Format != bundle.OpenShiftTemplate:
		return fmt.Errorf("parameters are given, which %s does not support: leave them out, or choose format %s",
			r.Format, bundle.OpenShiftTemplate)
	}
	return nil
}

func (r *Rendered) helm(ctx context.Context, p *Prepared, release helm.Release, o content.Options) error {
	chart, err := p.chart()
	if err != nil {
		return err
	}
	manifests, notes, err := chart.Render(ctx, release)
	if err != nil {
		return err
	}
	r.Notes = notes
	r.Objects, err = r.manifests(&manifests, o)
	if err != nil || r.Format == bundle.OpenShiftTemplate {
		return err
	}
	var more []string
	r.Objects, more, err = helm.Hooks(r.Objects, o.Namespace, o.SkipHooks...)
	r.Notes = append(notes, more...)
	return err
}

// manifests returns the objects of manifests. A Template alone gives its objects, unless a format is chosen that
// leaves it as it is.
func (r *Rendered) manifests(tree *bundle.Tree, o content.Options) ([]bundle.Object, error) {
	all, unread := plain.Manifests(tree)
	if o.Format == "" && unread == nil && len(all) == 1 && openshift.Is(all[0].Object) {
		r.Format = bundle.OpenShiftTemplate
	}
	if r.Format != bundle.OpenShiftTemplate {
		objects, wrong := plain.Check(all)
		return objects, errors.Join(unread, wrong)
	}
	if unread != nil {
		return nil, unread
	}
	return processed(all, o)
}

func (r *Rendered) operator(tree *bundle.Tree, options registryv1.Options, values map[string]any) error {
	manifests, err := read(registryv1.Manifests(tree))
	if err != nil {
		return err
	}
	if options.Properties, err = registryv1.Properties(tree); err != nil {
		return err
	}
	if options.Config, err = registryv1.ParseConfig(values); err != nil {
		return err
	}
	r.Objects, err = registryv1.Convert(manifests, options)
	return err
}

// read reads the manifests that a renderer gave.
func read(manifests bundle.Tree, err error) ([]bundle.Object, error) {
	if err != nil {
		return nil, err
	}
	return plain.Read(&manifests)
}

// some returns the first of many names.
func some(names []string) []string {
	const most = 5
	switch {
	case len(names) == 0:
		return []string{"no file"}
	case len(names) > most:
		return append(names[:most:most], "…")
	default:
		return names
	}
}
