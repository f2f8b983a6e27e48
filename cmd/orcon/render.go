package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// renderOptions are the flags of render.
type renderOptions struct {
	sourceOptions

	output string
}

func newRender() *cobra.Command {
	var o renderOptions
	c := &cobra.Command{
		Use:   "render SOURCE",
		Short: "Print the objects that a bundle means, without a cluster",
		Long: `render prints the objects of a bundle. SOURCE is one of

    deploy/ or shop.tgz                                  a folder, or an archive: tar, with or
                                                         without gzip, or zip
    https://example.org/shop.tgz#sha256=CHECKSUM         an archive
    oci://registry.example.org/shop@sha256:DIGEST        an image, or another artifact
    git+https://example.org/shop.git@COMMIT              a repository; git+ssh too
    builtin:selfsigned, builtin:certmanager              Orcon itself, with certificates of its
                                                         own or by cert-manager
    builtin:bundle-controller                            what keeps BundleDeployments

and may end in #folder=a/b (behind a checksum: &folder=a/b), the part that is meant. What
may mean something else tomorrow, such as a tag or a branch, needs --track. What is
pinned is fetched once and kept in the user's cache. Without --format the content is
taken for what it looks like.

Templates of a chart see a first installation on Kubernetes 1.35, whatever cluster there
is. Its hooks become objects with a phase, and those that nothing could run are refused.

What is wrong is told with file, document, line and cure, and then nothing is printed.
Standard error has what else there is to know, and last the digests: of the content, and
of all that went in.`,
		Example: `  orcon render deploy/
  orcon render deploy/ --path overlays/production
  orcon render 'oci://registry.example.org/shop:v1' --track
  orcon render chart/ -f production.yaml --set replicas=3 -n shop
  orcon render shop.tgz -o json | jq .kind
  orcon render builtin:selfsigned --set registry=registry.example.org/orcon --set tag=v0.1.0`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.Name, "name", "", "name of the installation, for a chart's templates (default: the chart's)")
	c.Flags().StringVarP(&o.Namespace, "namespace", "n", "default", "namespace of the installation, for a chart's templates and an operator")
	c.Flags().StringVarP(&o.output, "output", "o", "yaml", "yaml or json, one object a line")
	return c
}

func (o *renderOptions) run(c *cobra.Command, source string) error {
	write, ok := map[string]func(io.Writer, bundle.Object) error{"yaml": writeYAML, "json": writeJSON}[o.output]
	if !ok {
		return fmt.Errorf("cannot print as %q: --output is yaml or json", o.output)
	}
	rendered, tree, err := o.render(c, source)
	if err != nil {
		return err
	}
	for _, object := range rendered.Objects {
		if err := write(c.OutOrStdout(), object); err != nil {
			return err
		}
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
