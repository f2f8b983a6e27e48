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

	output output
}

func newRender() *cobra.Command {
	var o renderOptions
	c := &cobra.Command{
		Use:   "render SOURCE",
		Short: "Print the objects of a bundle, without a cluster",
		Long: `render prints the objects of a bundle. SOURCE is one of

    deploy/, shop.yaml or shop.tgz                       a folder, a manifest, or an archive:
                                                         tar, tar.gz or zip
    https://example.org/shop.tgz#sha256=CHECKSUM         an archive
    oci://registry.example.org/shop@sha256:DIGEST        an image, or another artifact
    git+https://example.org/shop.git@COMMIT              a repository; git+ssh too
    builtin:selfsigned, builtin:certmanager              Orcon itself, with certificates of its
                                                         own or by cert-manager
    builtin:bundle-controller                            the controller of BundleDeployments
    builtin:job-controller                               the controller of stateful runs
    builtin:network-policies                             what lets into Orcon's pods only what they serve
    builtin:fleet-chart                                  a chart of integrations, for orcon fleet

and may end in #folder=a/b (after a checksum: &folder=a/b) to select a folder. A source that is
not pinned, such as a tag or a branch, needs --track. Pinned content is fetched once and kept
in the user's cache. Without --format the format is detected.

Templates of a chart are rendered as for a first installation on Kubernetes 1.35. Its hooks
become objects with a phase; hooks that cannot be run are refused. An OpenShift Template that is the
only manifest, or the output of a chart, is processed with the values of --parameter.

Errors name the file, document, line and cure; then nothing is printed. Notes go to standard
error, followed by the digests of the content and of all inputs.`,
		Example: `  orcon render deploy/
  orcon render deploy/ --path overlays/production
  orcon render 'oci://registry.example.org/shop:v1' --track
  orcon render chart/ -f production.yaml --set replicas=3 -n shop
  orcon render shop.tgz -o json | jq .kind
  orcon render template.yaml --parameter IMAGE_TAG=v2
  orcon render builtin:selfsigned --set registry=registry.example.org/orcon --set tag=v0.1.0`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.Name, "name", "", "name of the installation, for a chart's templates (default: the name of the chart)")
	c.Flags().StringVarP(&o.Namespace, "namespace", "n", "default", "namespace of the installation, for a chart's templates and an operator")
	o.output.flag(c, asYAML, asJSON)
	return c
}

func (o *renderOptions) run(c *cobra.Command, source string) error {
	write := writeYAML
	if o.output.format == asJSON {
		write = writeJSON // one object a line
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
	fmt.Fprintf(c.ErrOrStderr(), "%s (%s) of %s, input %s\n", objects(len(rendered.Objects)), rendered.Format, tree.Digest(), rendered.Digest)
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
