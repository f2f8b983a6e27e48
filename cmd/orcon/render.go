package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// renderOptions are the flags of render.
type renderOptions struct {
	content.Options
	values []string
	output string
}

func newRender() *cobra.Command {
	var o renderOptions
	c := &cobra.Command{
		Use:   "render SOURCE",
		Short: "Print the objects that a bundle means, without a cluster",
		Long: `render prints the objects of a bundle. SOURCE is a folder or an archive (tar, with or
without gzip, or zip). Without --format it is taken for what it looks like.

Templates of a chart see a first installation on Kubernetes 1.35, whatever cluster there
is. Its hooks become objects with a phase, and those that nothing could run are refused.

What is wrong is told with file, document, line and cure, and then nothing is printed.
Standard error has what else there is to know, and last the digests: of the content, and
of all that went in.`,
		Example: `  orcon render deploy/
  orcon render chart/ -f production.yaml --set replicas=3 -n shop
  orcon render shop.tgz -o json | jq .kind`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	c.Flags().StringVar(&o.Format, "format", "", "plain, helm, registry-v1 or kustomize (default: what it looks like)")
	c.Flags().StringVar(&o.Name, "name", "", "name of the installation, for a chart's templates (default: the chart's)")
	c.Flags().StringVarP(&o.Namespace, "namespace", "n", "default", "namespace of the installation, for a chart's templates")
	c.Flags().StringArrayVarP(&o.values, "values", "f", nil, "values file of a chart; of several the later counts")
	c.Flags().StringArrayVar(&o.Set, "set", nil, "a value of a chart: name=value, name.below=value")
	c.Flags().StringVarP(&o.output, "output", "o", "yaml", "yaml or json, one object a line")
	return c
}

func (o *renderOptions) run(c *cobra.Command, source string) error {
	write, ok := map[string]func(io.Writer, bundle.Object) error{"yaml": writeYAML, "json": writeJSON}[o.output]
	if !ok {
		return fmt.Errorf("cannot print as %q: --output is yaml or json", o.output)
	}
	reference, err := bundle.ParseReference(source)
	if err != nil {
		return err
	}
	tree, err := content.Fetch(content.Source{Reference: reference})
	if err != nil {
		return err
	}
	for _, file := range o.values {
		text, err := os.ReadFile(file) //nolint:gosec // the user names it
		if err != nil {
			return fmt.Errorf("cannot read the values: %w", err)
		}
		o.Values = append(o.Values, text)
	}
	rendered, err := content.Render(c.Context(), tree, o.Options)
	if err != nil {
		return err
	}
	for _, object := range rendered.Objects {
		if err := write(c.OutOrStdout(), object); err != nil {
			return err
		}
	}
	for _, note := range rendered.Notes {
		fmt.Fprintln(c.ErrOrStderr(), "note:", note)
	}
	fmt.Fprintf(c.ErrOrStderr(), "%d objects (%s) of %s, input %s\n", len(rendered.Objects), rendered.Format, tree.Digest(), rendered.Digest)
	return nil
}

// writeJSON writes an object's canonical bytes and a line end.
func writeJSON(out io.Writer, o bundle.Object) error {
	text, err := o.Canonical()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}

// writeYAML writes an object as a document of its own.
func writeYAML(out io.Writer, o bundle.Object) error {
	text, err := o.Canonical()
	if err != nil {
		return err
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		return fmt.Errorf("cannot write %s as YAML: %w", o.ID(), err)
	}
	_, err = fmt.Fprintf(out, "---\n%s", text)
	return err
}
