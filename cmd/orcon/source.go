package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/deployment"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// sourceOptions say where a bundle comes from and how it is rendered.
type sourceOptions struct {
	content.Options
	content.Fetcher

	credentials string
	mirrors     map[string]string
	values      []string
	parameters  []string
}

func (o *sourceOptions) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.Format, "format", "", "plain, helm, registry-v1, kustomize or openshift-template (default: detected)")
	c.Flags().StringVar(&o.Path, "path", "",
		"folder or file of the content that is rendered; a kustomization in it may refer to folders beside it")
	c.Flags().StringArrayVar(&o.Watch, "watch", nil, "namespace that an operator watches; may be repeated (default: all, or its own if "+
		"it supports no more)")
	c.Flags().BoolVar(&o.ConfigChecksum, "config-checksum", false,
		"restart pods when a ConfigMap or Secret of the bundle that they read changes")
	c.Flags().StringArrayVarP(&o.values, "values", "f", nil,
		"values file of a chart, or with the deploymentConfig of an operator; later ones override earlier ones")
	c.Flags().StringArrayVar(&o.Set, "set", nil, "value of a chart: name=value, name.below=value; of builtin: registry=HOST/PATH, tag=TAG")
	c.Flags().StringArrayVar(&o.parameters, "parameter", nil, "value of a parameter of an OpenShift Template: NAME=VALUE; may be repeated")
	c.Flags().StringArrayVar(&o.SkipHooks, "skip-hook", nil, "hook of a chart to leave out: KIND/NAME; may be repeated")
	c.Flags().BoolVar(&o.Track, "track", false, "follow a tag, a branch or an address that is not pinned")
	c.Flags().StringVar(&o.credentials, "credentials", "", "YAML file for a private source: username and password, or token; ssh-privatekey and known_hosts; ca.crt")
	c.Flags().StringToStringVar(&o.mirrors, "mirror", nil, "registry=mirror: host that is tried before a registry")
}

// render fetches a source and returns the objects that it means. Notes go to standard error.
func (o *sourceOptions) render(c *cobra.Command, source string) (render.Rendered, bundle.Tree, error) {
	tree, err := o.fetch(c, source)
	if err == nil {
		err = o.read()
	}
	if err != nil {
		return render.Rendered{}, tree, err
	}
	rendered, err := render.Render(c.Context(), tree, o.Options)
	for _, note := range rendered.Notes {
		fmt.Fprintln(c.ErrOrStderr(), "note:", note)
	}
	return rendered, tree, err
}

// read reads the files of values and the parameters.
func (o *sourceOptions) read() (err error) {
	for _, file := range o.values {
		text, err := os.ReadFile(file) //nolint:gosec // the user names it
		if err != nil {
			return fmt.Errorf("cannot read the values: %w", err)
		}
		o.Values = append(o.Values, content.ValuesFile{Name: file, Text: text})
	}
	o.Parameters, err = parseParameters(o.parameters)
	return err
}

// parseParameters reads values of --parameter.
func parseParameters(settings []string) (map[string]string, error) {
	all := map[string]string{}
	for _, setting := range settings {
		name, value, ok := strings.Cut(setting, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("cannot use --parameter %q: write NAME=VALUE", setting)
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("cannot use --parameter %s twice: keep one value", name)
		}
		all[name] = value
	}
	return all, nil
}

// fetch returns the content of a source of manifests.
func (o *sourceOptions) fetch(c *cobra.Command, source string) (bundle.Tree, error) {
	r, err := bundle.ParseReference(source)
	if err == nil {
		err = r.Deployable()
	}
	if err != nil {
		return bundle.Tree{}, err
	}
	return o.fetchAny(c, r)
}

// fetchAny returns the content of a source, and says what a name has turned out to mean.
func (o *sourceOptions) fetchAny(c *cobra.Command, r bundle.Reference) (bundle.Tree, error) {
	s := content.Source{Reference: r}
	var err error
	if s.Credentials, err = readCredentials(o.credentials); err != nil {
		return bundle.Tree{}, err
	}
	if folder, err := os.UserCacheDir(); err == nil {
		o.Cache = content.Cache{Folder: filepath.Join(folder, "orcon", "content")}
	}
	o.Mirrors = map[string][]string{}
	for registry, mirror := range o.mirrors {
		o.Mirrors[registry] = []string{mirror}
	}
	o.Builtin = deployment.Manifests()
	if err := s.Pinned(); err != nil && !o.Track {
		return bundle.Tree{}, fmt.Errorf("%w with --track", err)
	}
	tree, resolved, err := o.Fetch(c.Context(), s)
	switch {
	case err != nil:
		return tree, sourceError{err}
	case s.Origin == bundle.Builtin:
		err = o.own(&tree, s.Location)
	case s.Pinned() != nil:
		fmt.Fprintln(c.ErrOrStderr(), "resolved:", resolved[0])
	}
	return tree, err
}

// own has a variant of Orcon's own manifests rendered, with its images from where --set says. The settings of a chart
// are its values.
func (o *sourceOptions) own(tree *bundle.Tree, variant string) error {
	switch known := slices.Concat(deployment.Variants(), deployment.Charts()); {
	case !slices.Contains(known, variant):
		return fmt.Errorf("cannot use builtin:%s: use builtin:%s", variant, strings.Join(known, ", builtin:"))
	case o.Path != "":
		return fmt.Errorf("cannot use --path with builtin:%s: builtin: names the folder itself", variant)
	}
	o.Path = variant
	if slices.Contains(deployment.Charts(), variant) || len(o.Set) == 0 && !deployment.Released() {
		return nil
	}
	text, err := deployment.ImagesFrom(o.Set...)
	if err != nil {
		return err
	}
	o.Set = nil
	tree.Remove(deployment.ImagesFile)
	return tree.Add(deployment.ImagesFile, bundle.File{Content: text})
}

// readCredentials reads a file of credentials; "" is none.
func readCredentials(file string) (bundle.Credentials, error) {
	if file == "" {
		return bundle.Credentials{}, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return bundle.Credentials{}, fmt.Errorf("cannot read the credentials: %w", err)
	}
	var data map[string]string
	if yaml.UnmarshalStrict(text, &data) != nil { // its error would show values
		return bundle.Credentials{}, fmt.Errorf("cannot read the credentials: %s is not a YAML map of strings", file)
	}
	return bundle.ParseCredentials(data)
}
