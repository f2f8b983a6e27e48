package content

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/helm"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kustomize"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/plain"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/registryv1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Options say how a tree is rendered.
type Options struct {
	// Path is the folder of the tree that is rendered; "" is the top. A kustomization in it
	// may refer to what lies beside it.
	Path string
	// Format is a format's name; "" is the one that the tree looks like.
	Format string
	// Name is that of the installation, which templates may show; "" is the chart's.
	Name string
	// Namespace is where an installation goes, which templates may show. Objects that name
	// none stay without one: which kinds have one, a cluster knows.
	Namespace string
	// Watch are the namespaces that an operator is for; none is as many as it can.
	Watch []string
	// ConfigChecksum has pods replaced when what they read of the bundle's own ConfigMaps and
	// Secrets changes (bundle.Checksummed).
	ConfigChecksum bool
	// Values are the values files of a chart, later ones over earlier ones.
	Values []ValuesFile
	// Set are settings over all values, as a.b=c.
	Set []string
}

// ValuesFile is a file of values for a chart.
type ValuesFile = helm.ValuesFile

// Rendered is what came of a tree.
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
func Render(ctx context.Context, tree bundle.Tree, o Options) (Rendered, error) {
	folder, err := tree.Sub(o.Path)
	if err != nil {
		return Rendered{}, err
	}
	format, err := bundle.ParseFormat(o.Format, &folder)
	if err != nil {
		return Rendered{}, err
	}
	r := Rendered{Format: format}
	if err := r.render(ctx, &tree, &folder, o); err != nil {
		return Rendered{}, fmt.Errorf("cannot render as %s: %w", format, o.unquoted(err))
	}
	return r, nil
}

// Secret reports whether values are of Secrets: then so may be whatever is rendered.
func (o Options) Secret() bool {
	return slices.ContainsFunc(o.Values, func(f ValuesFile) bool { return f.Secret })
}

// unquoted returns an error that quotes no value of a Secret.
func (o Options) unquoted(err error) error {
	if o.Secret() {
		return bundle.Unquoted(err)
	}
	return err
}

func (r *Rendered) render(ctx context.Context, tree, folder *bundle.Tree, o Options) error {
	values, err := helm.Values(o.Values, o.Set)
	if err != nil {
		return err
	}
	in := bundle.Input{Content: tree.Digest(), Path: o.Path, Format: r.Format, Name: o.Name, Namespace: o.Namespace, Watch: o.Watch, ConfigChecksum: o.ConfigChecksum, Values: values}
	switch {
	case len(o.Watch) > 0 && r.Format != bundle.RegistryV1:
		err = fmt.Errorf("namespaces to watch are given, which it does not support: leave them out, or choose format %s", bundle.RegistryV1)
	case r.Format == bundle.Helm:
		in.Renderer = helm.Renderer
		err = r.helm(ctx, folder, helm.Release{Name: o.Name, Namespace: o.Namespace, Values: values})
	case len(values) > 0:
		err = fmt.Errorf("values are given, which %s does not support: leave them out, or choose format %s", r.Format, bundle.Helm)
	case r.Format == bundle.Plain:
		r.Objects, err = plain.Read(folder)
	case r.Format == bundle.Kustomize:
		in.Renderer = kustomize.Renderer
		r.Objects, err = read(kustomize.Render(tree, o.Path))
	default:
		in.Renderer = registryv1.Renderer
		err = r.operator(folder, registryv1.Options{Namespace: o.Namespace, Watch: o.Watch})
	}
	if err != nil {
		return err
	}
	if len(r.Objects) == 0 {
		return fmt.Errorf("it contains no manifest: manifests end in .yaml, .yml or .json; the files are: %s",
			strings.Join(some(folder.Paths()), ", "))
	}
	if o.ConfigChecksum {
		r.Objects = bundle.Checksummed(r.Objects, o.Namespace)
	}
	r.Digest, err = in.Digest()
	return err
}

func (r *Rendered) helm(ctx context.Context, tree *bundle.Tree, release helm.Release) error {
	manifests, notes, err := helm.Render(ctx, tree, release)
	objects, err := read(manifests, err)
	if err != nil {
		return err
	}
	var more []string
	r.Objects, more, err = helm.Hooks(objects)
	r.Notes = append(notes, more...)
	return err
}

func (r *Rendered) operator(tree *bundle.Tree, options registryv1.Options) error {
	manifests, err := read(registryv1.Manifests(tree))
	if err != nil {
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
