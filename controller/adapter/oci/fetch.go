package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/egress"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const (
	// maxLayers is how many layers an image may have.
	maxLayers = 128
	// gone begins the name of a file that takes away another of an earlier layer;
	// goneAll is one that takes away all of its folder.
	gone    = ".wh."
	goneAll = ".wh..wh..opq"
)

// Untar gives each file of a tar stream to add, until one is refused.
type Untar func(in io.Reader, add func(string, bundle.File) error) error

// Client fetches from registries.
type Client struct {
	// Transport carries requests; nil is the library's.
	Transport   http.RoundTripper
	Credentials bundle.Credentials
	// Mirrors are hosts to ask before a registry, by the registry's host. They get no
	// credentials.
	Mirrors map[string][]string
	// Pause is the time before the next attempt where a registry is busy, which trebles.
	Pause time.Duration
	Untar Untar
}

// Fetch returns the files of an image, its layers over each other, and its digest. It takes the image for linux/amd64
// from an index: manifests are the same for all.
func (c Client) Fetch(ctx context.Context, r bundle.Reference) (tree bundle.Tree, digest string, err error) {
	image, digest, err := c.image(ctx, r)
	if err != nil {
		return bundle.Tree{}, "", err
	}
	layers, err := image.Layers()
	if err != nil {
		return bundle.Tree{}, "", fmt.Errorf("cannot read the image: %w", failure(err))
	}
	if len(layers) > maxLayers {
		return bundle.Tree{}, "", fmt.Errorf("cannot use the image: %w: it has %d layers, more than %d", bundle.ErrLimit, len(layers), maxLayers)
	}
	for i, layer := range layers {
		if tree, err = c.lay(tree, layer); err != nil {
			return bundle.Tree{}, "", fmt.Errorf("cannot use layer %d of %d of the image: %w", i+1, len(layers), cmp.Or(known(err), err))
		}
	}
	return tree, digest, nil
}

// image asks the mirrors of a registry, one after the other, and then itself.
func (c Client) image(ctx context.Context, r bundle.Reference) (v1.Image, string, error) {
	host, _, _ := strings.Cut(r.Location, "/")
	_, repository, _ := strings.Cut(r.Location, "/")
	var failed []error
	for _, at := range append(append([]string(nil), c.Mirrors[host]...), host) {
		authenticator := authn.Anonymous
		if at == host {
			authenticator = c.authenticator()
		}
		image, digest, err := c.ask(ctx, at+"/"+repository, r, authenticator)
		if err == nil {
			return image, digest, nil
		}
		failed = append(failed, fmt.Errorf("cannot get the image from %s: %w", at, failure(err)))
	}
	return nil, "", errors.Join(failed...)
}

func (c Client) ask(ctx context.Context, location string, r bundle.Reference, authenticator authn.Authenticator) (v1.Image, string, error) {
	var reference name.Reference
	var err error
	switch {
	case r.Digest != "":
		reference, err = name.NewDigest(location + "@" + r.Digest)
	case r.Version != "":
		reference, err = name.NewTag(location + ":" + r.Version)
	default:
		reference, err = name.NewTag(location)
	}
	if err != nil {
		return nil, "", err
	}
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuth(authenticator),
		remote.WithRetryBackoff(remote.Backoff{Duration: c.Pause, Factor: 3, Jitter: 0.1, Steps: 3}),
	}
	// The library asks registries at addresses of private networks without TLS.
	base := c.Transport
	if base == nil {
		base = remote.DefaultTransport
	}
	options = append(options, remote.WithTransport(egress.Private(base)))
	found, err := remote.Get(reference, options...)
	if err != nil {
		return nil, "", err
	}
	image, err := found.Image()
	return image, found.Digest.String(), err
}

func (c Client) authenticator() authn.Authenticator {
	switch {
	case c.Credentials.Token != "":
		return &authn.Bearer{Token: c.Credentials.Token}
	case c.Credentials.Username != "":
		return &authn.Basic{Username: c.Credentials.Username, Password: c.Credentials.Password}
	default:
		return authn.Anonymous
	}
}

// lay lays the files of a layer over those of earlier ones.
func (c Client) lay(below bundle.Tree, layer v1.Layer) (bundle.Tree, error) {
	if size, err := layer.Size(); err != nil || size > bundle.MaxBytes {
		return bundle.Tree{}, errors.Join(err, fmt.Errorf("%w: it has %d bytes compressed, and the limit is %d MiB", bundle.ErrLimit, size,
			bundle.MaxBytes>>20))
	}
	stream, err := layer.Uncompressed()
	if err != nil {
		return bundle.Tree{}, err
	}
	defer stream.Close() //nolint:errcheck // it is only read
	var above bundle.Tree
	err = c.Untar(stream, func(at string, f bundle.File) error {
		folder, file := path.Split(at)
		removed, marked := strings.CutPrefix(file, gone)
		switch {
		case file == goneAll && folder == "":
			below = bundle.Tree{}
		case file == goneAll:
			below.Remove(path.Clean(folder))
		case marked:
			below.Remove(folder + removed)
		default:
			return above.Add(at, f)
		}
		return nil
	})
	if err != nil {
		return bundle.Tree{}, err
	}
	return bundle.Overlay(bundle.Layer{Tree: below}, bundle.Layer{Tree: above})
}
