package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/oci"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
)

// Workshop fetches contents and makes images.
type Workshop interface {
	// Fetch returns the files of a reference, and the reference with the commit that it means now.
	Fetch(ctx context.Context, r bundle.Reference) (bundle.Tree, bundle.Reference, error)
	// Pushed returns content that a person pushed, by its digest.
	Pushed(ctx context.Context, namespace, digest string) (bundle.Tree, error)
	// Make builds the image of a version, stores it, and returns its name by digest. That of an ad-hoc version is its type's:
	// its content is stored.
	Make(ctx context.Context, namespace string, v template.Version, files bundle.Tree) (string, error)
}

// Registry is a Workshop that fetches in child processes and pushes to a registry.
type Registry struct {
	Contents *content.Isolated
	// Store has the contents that persons pushed.
	Store blob.Store
	// Prefix is HOST/PATH; images are PREFIX/NAMESPACE/TEMPLATE. "" for no registry.
	Prefix string
	// Credentials returns those of the registry; they may change.
	Credentials func() (bundle.Credentials, error)
}

var _ Workshop = Registry{}

// Fetch implements Workshop. What a branch or tag means is looked up first, so that content that was fetched before comes
// from the cache.
func (g Registry) Fetch(ctx context.Context, r bundle.Reference) (bundle.Tree, bundle.Reference, error) {
	if r.Pinned() != nil {
		head := r
		head.Folder = "" // no files, no folder
		fetched, err := g.Contents.Fetch(ctx, []content.Source{{Reference: head, Bare: true}}, nil)
		if err != nil {
			return bundle.Tree{}, r, err
		}
		r.Digest, r.Version = fetched.Resolved[0].Digest, ""
		if err := fetched.Close(); err != nil {
			return bundle.Tree{}, r, err
		}
	}
	fetched, err := g.Contents.Fetch(ctx, []content.Source{{Reference: r}}, nil)
	if err != nil {
		return bundle.Tree{}, r, err
	}
	tree, err := fetched.Tree()
	return tree, r, errors.Join(err, fetched.Close())
}

// Pushed implements Workshop.
func (g Registry) Pushed(ctx context.Context, namespace, digest string) (bundle.Tree, error) {
	files, err := contents.Get(ctx, g.Store, namespace, digest)
	if errors.Is(err, contents.ErrMissing) {
		err = fmt.Errorf("%w: push it with `orcon job template push`, or correct spec.build.source.digest", err)
	}
	return files, err
}

// pause is the time before a registry that is busy is asked again.
const pause = time.Second

// Make implements Workshop.
func (g Registry) Make(ctx context.Context, namespace string, v template.Version, files bundle.Tree) (string, error) {
	if v.Mode == template.AdHoc {
		_, err := contents.Put(ctx, g.Store, namespace, &files)
		return v.Base, err
	}
	if g.Prefix == "" {
		return "", errors.New("there is no registry for images of templates: have the administrator set -templateRegistry of job-controller, " +
			"or use a JobTemplateType of mode AdHoc")
	}
	tag, err := v.Name()
	if err != nil {
		return "", err
	}
	r, err := bundle.ParseReference("oci://" + v.Base)
	if err != nil {
		return "", err
	}
	credentials, err := g.Credentials()
	if err != nil {
		return "", fmt.Errorf("cannot read the credentials of the registry: %w", err)
	}
	transport, err := content.Trusting(credentials.CA)
	if err != nil {
		return "", err
	}
	client := oci.Client{Transport: transport, Credentials: credentials, Pause: pause, Untar: archive.Untar}
	base, err := client.Base(ctx, r)
	if err != nil {
		return "", fmt.Errorf("cannot get the image of type %s: %w", v.Type, err)
	}
	image, err := Append(base, v, files)
	if err != nil {
		return "", err
	}
	return client.Push(ctx, image, g.Prefix+"/"+namespace+"/"+v.Template, tag)
}

// Append returns the image of a version: that of its type, with its files as one layer more.
func Append(base oci.Image, v template.Version, files bundle.Tree) (oci.Image, error) {
	tree, err := bundle.Overlay(bundle.Layer{Destination: strings.TrimPrefix(v.Path, "/"), Tree: files})
	if err != nil {
		return oci.Image{}, err
	}
	return base.Append(oci.Addition{
		Pack: func(out io.Writer) error { return archive.Pack(out, &tree) }, Folder: contract.Work, User: fmt.Sprintf("%d:%[1]d", contract.User),
	})
}
