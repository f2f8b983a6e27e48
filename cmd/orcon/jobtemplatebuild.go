package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/oci"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/build"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
)

// templateOptions are the flags of commands that make a version of a template from content.
type templateOptions struct {
	files       []string
	credentials string
	namespace   string
}

func (o *templateOptions) flags(c *cobra.Command) {
	c.Flags().StringArrayVarP(&o.files, "file", "f", nil, "file with the JobTemplate and its JobTemplateType; may be repeated (required)")
	c.Flags().StringVar(&o.credentials, "credentials", "",
		"YAML file for a private source or registry: username and password, or token; ca.crt")
	c.Flags().StringVarP(&o.namespace, "namespace", "n", "default", "namespace of the version")
}

// builtTemplate is a version of a template, with its content.
type builtTemplate struct {
	domain.Version

	tree   bundle.Tree
	source string
}

// freeze reads the kinds and the content, and joins them.
func (o *templateOptions) freeze(c *cobra.Command, source string) (builtTemplate, error) {
	t, l, err := o.read(c)
	if err != nil {
		return builtTemplate{}, err
	}
	r, err := bundle.ParseReference(source)
	if err != nil {
		return builtTemplate{}, err
	}
	credentials, err := readCredentials(o.credentials)
	if err != nil {
		return builtTemplate{}, err
	}
	f := content.Fetcher{Track: true}
	tree, resolved, err := f.Fetch(c.Context(), content.Source{Reference: r, Credentials: credentials})
	if err == nil {
		err = tree.Unlinked()
	}
	if err != nil {
		return builtTemplate{}, sourceError{err}
	}
	v, err := domain.Freeze(t, l, tree.Digest())
	return builtTemplate{v, tree, resolved[0].String()}, err
}

// templateFiles are the objects of the files of a build.
type templateFiles struct {
	built *v1alpha1.JobTemplate
	types map[string]*v1alpha1.JobTemplateType
}

// read returns the only JobTemplate of the files, and the type that it names.
func (o *templateOptions) read(c *cobra.Command) (t domain.Type, l domain.Design, err error) {
	if len(o.files) == 0 {
		return t, l, errors.New("the flag --file is missing: name a file with the JobTemplate, and one with its JobTemplateType")
	}
	kinds := templateFiles{types: map[string]*v1alpha1.JobTemplateType{}}
	for _, file := range o.files {
		objects, err := readObjects(c, file)
		for i := 0; err == nil && i < len(objects); i++ {
			err = kinds.add(objects[i])
		}
		if err != nil {
			return t, l, fmt.Errorf("%s: %w", file, err)
		}
	}
	if kinds.built == nil {
		return t, l, fmt.Errorf("there is no JobTemplate in %s: write one with spec.build", strings.Join(o.files, ", "))
	}
	if l, err = convert.ToBuild(kinds.built); err != nil {
		return t, l, err
	}
	kind, found := kinds.types[kinds.built.Spec.Build.Type]
	if !found {
		return t, l, fmt.Errorf("there is no JobTemplateType %s in %s: add a file with it, from the cluster or of your own",
			kinds.built.Spec.Build.Type, strings.Join(o.files, ", "))
	}
	t, err = convert.ToType(kind)
	return t, l, err
}

// add adds an object of a file; those of other kinds are ignored.
func (k *templateFiles) add(one bundle.Object) error {
	switch one.Text("kind") {
	case "JobTemplate":
		if k.built != nil {
			return fmt.Errorf("JobTemplate %s is a second one: build one at a time", one.ID().Name)
		}
		k.built = &v1alpha1.JobTemplate{}
		return into(one, k.built)
	case "JobTemplateType":
		kind := &v1alpha1.JobTemplateType{}
		err := into(one, kind)
		k.types[kind.Name] = kind
		return err
	}
	return nil
}

// into reads an object as its kind; a field that the kind has not is an error.
func into(o bundle.Object, kind any) error {
	text, err := json.Marshal(o)
	if err == nil {
		err = yaml.UnmarshalStrict(text, kind)
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", o.ID(), err)
	}
	return nil
}

// templateBuildOptions are the flags of job template build.
type templateBuildOptions struct {
	templateOptions

	base, image, output string
	push                bool
}

func newTemplateBuild() *cobra.Command {
	var o templateBuildOptions
	c := &cobra.Command{
		Use:   "build SOURCE -f FILE --image NAME",
		Short: "Build a version of a template, without a cluster and without an engine",
		Long: `job template build makes a version of a JobTemplate from content, and prints the JobTemplateVersion. SOURCE is a folder, a
zip or tgz archive, or git+https://HOST/REPOSITORY@COMMIT#folder=PATH. The content becomes a layer over the image of the
JobTemplateType, which is fetched from its registry, or read from a file (--base). The image is written into a file (-o),
pushed (--push), or both. Equal content gives an equal image.

It needs no permission in a cluster.

Exit codes: 0 built, 2 the command failed.`,
		Example: `  orcon job template build ./web -f web.yaml -f type.yaml --image registry.example.org/templates/web -o image.tar
  orcon job template build git+https://git.example.org/web@main -f web.yaml -f type.yaml \
    --image registry.example.org/templates/web --push | kubectl apply -f -`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.image, "image", "", "name of the image without tag: HOST/PATH")
	c.Flags().StringVar(&o.base, "base", "", "file of the type's image, as docker save writes it (.tar), or a folder in OCI layout")
	c.Flags().StringVarP(&o.output, "output", "o", "", "file that docker load and ctr image import read")
	c.Flags().BoolVar(&o.push, "push", false, "push the image to its registry")
	return c
}

func (o *templateBuildOptions) run(c *cobra.Command, source string) error {
	built, err := o.freeze(c, source)
	if err != nil {
		return err
	}
	image, err := o.build(c, built)
	if err != nil {
		return err
	}
	version, err := convert.ForVersion(built.Version, o.namespace, image, built.source)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(version)
	if err != nil {
		return fmt.Errorf("cannot write the version: %w", err)
	}
	_, err = c.OutOrStdout().Write(text)
	return err
}

// build makes the image, and returns its name by digest.
func (o *templateBuildOptions) build(c *cobra.Command, built builtTemplate) (string, error) {
	if built.Mode == domain.AdHoc {
		return "", fmt.Errorf("JobTemplateType %s has mode AdHoc, and no image is built: push the content with orcon job template push",
			built.Type)
	}
	if o.image == "" {
		return "", errors.New("the flag --image is missing: name the image, such as --image registry.example.org/templates/web")
	}
	if o.output == "" && !o.push {
		return "", errors.New("the image would go nowhere: use -o FILE, --push, or both")
	}
	credentials, err := readCredentials(o.credentials)
	if err != nil {
		return "", err
	}
	transport, err := content.Trusting(credentials.CA)
	if err != nil {
		return "", err
	}
	registry := oci.Client{Transport: transport, Credentials: credentials, Pause: time.Second, Untar: archive.Untar}
	base, err := o.baseImage(c, registry, built.Base)
	if err != nil {
		return "", fmt.Errorf("cannot get the image of type %s: %w", built.Type, err)
	}
	image, err := build.Append(base, built.Version, built.tree)
	if err != nil {
		return "", err
	}
	name, err := built.Name()
	if err != nil {
		return "", err
	}
	if o.output != "" {
		if err := writeImage(o.output, image, o.image+":"+name); err != nil {
			return "", err
		}
	}
	if o.push {
		return registry.Push(c.Context(), image, o.image, name)
	}
	return o.image + "@" + image.Digest, nil
}

// baseImage returns the image of a type.
func (o *templateBuildOptions) baseImage(c *cobra.Command, registry oci.Client, named string) (oci.Image, error) {
	if o.base != "" {
		return oci.ReadImage(o.base)
	}
	r, err := bundle.ParseReference("oci://" + named)
	if err != nil {
		return oci.Image{}, err
	}
	return registry.Base(c.Context(), r)
}

// writeImage writes an image into a new file.
func writeImage(file string, image oci.Image, name string) error {
	out, err := os.Create(file) //nolint:gosec // the user names it
	if err != nil {
		return fmt.Errorf("cannot write the image: %w", err)
	}
	return errors.Join(image.Write(out, name), out.Close())
}

func newTemplateDockerfile() *cobra.Command {
	var o templateOptions
	c := &cobra.Command{
		Use:   "dockerfile SOURCE -f FILE",
		Short: "Print the Dockerfile that a build is equivalent to",
		Long: `job template dockerfile prints, for review, the Dockerfile by which a container engine would build from the content what
job template build makes without one.

It needs no permission in a cluster.

Exit codes: 0 printed, 2 the command failed.`,
		Example: `  orcon job template dockerfile ./web -f web.yaml -f type.yaml`,
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			built, err := o.freeze(c, args[0])
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.OutOrStdout(), built.Dockerfile())
			return err
		},
	}
	o.flags(c)
	return c
}
