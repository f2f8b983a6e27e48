package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// templatePushOptions are the flags of job template push.
type templatePushOptions struct {
	jobOptions

	template string
}

func newTemplatePush() *cobra.Command {
	var o templatePushOptions
	c := &cobra.Command{
		Use:   "push SOURCE --template NAME",
		Short: "Push content from this machine, from which the cluster builds a template",
		Long: `job template push stores content in the cluster, and has spec.build.source.digest of the JobTemplate name it: the cluster
then builds another version of the template. SOURCE is a folder, or a zip or tgz archive. Content that a JobTemplate or one
of its versions names stays stored; other content is deleted a day after it was pushed.

It needs the permission update of jobtemplates/content in API group jobs.orcon.tengu.io, and patch of jobtemplates unless
the template names the content already. The cluster role edit has both.

Exit codes: 0 pushed, 2 the command failed.`,
		Example: `  orcon job template push ./tofu --template network -n shop
  orcon job template push network.zip --template network -n shop`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.template, "template", "", "name of the JobTemplate (required)")
	return c
}

func (o *templatePushOptions) run(c *cobra.Command, source string) error {
	if o.template == "" {
		return errors.New("the flag --template is missing: name the JobTemplate whose content it is")
	}
	packed, err := packedContent(c, source)
	if err != nil {
		return err
	}
	target, err := o.find(o.template)
	if err != nil {
		return err
	}
	var t v1alpha1.JobTemplate
	if err := target.read(c, "JobTemplate", "apply it first, with spec.build and no source", &t); err != nil {
		return err
	}
	switch b := t.Spec.Build; {
	case b == nil:
		return fmt.Errorf("cannot push to JobTemplate %s: it names an image, and has no spec.build", target)
	case b.Source.Reference != "":
		return fmt.Errorf("cannot push to JobTemplate %s: it is built from %s: remove spec.build.source.reference first",
			target, b.Source.Reference)
	}
	request, err := target.request("PUT", people.Templates, people.Contents, true)
	if err != nil {
		return err
	}
	var stored people.PushedContent
	if err := answer(request.SetHeader("Content-Type", "application/gzip").Body(packed).Do(c.Context()), &stored); err != nil {
		return fmt.Errorf("cannot push to JobTemplate %s: %w", target, err)
	}
	if before := t.DeepCopy(); t.Spec.Build.Source.Digest != stored.Digest {
		t.Spec.Build.Source.Digest = stored.Digest
		if err := target.kinds.Patch(c.Context(), &t, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("content %s is stored, but JobTemplate %s does not name it: %w: set spec.build.source.digest",
				stored.Digest, target, err)
		}
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "JobTemplate %s: its content is %s\n", target, stored.Digest)
	return err
}

// packedContent returns the files of a folder or an archive of this machine as a tgz.
func packedContent(c *cobra.Command, source string) ([]byte, error) {
	r, err := bundle.ParseReference(source)
	if err != nil {
		return nil, err
	}
	if r.Origin != bundle.Local {
		return nil, fmt.Errorf("cannot push %s: name a folder or an archive of this machine; the cluster builds from a repository that "+
			"spec.build.source.reference names", source)
	}
	f := content.Fetcher{Track: true}
	tree, _, err := f.Fetch(c.Context(), content.Source{Reference: r})
	if err == nil {
		err = tree.Unlinked()
	}
	if err != nil {
		return nil, sourceError{err}
	}
	var packed bytes.Buffer
	out := gzip.NewWriter(&packed)
	if err := errors.Join(archive.Pack(out, &tree), out.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
