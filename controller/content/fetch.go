package content

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/egress"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/git"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/oci"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/plain"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/qontract"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/web"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

const (
	// limit is how long one source may take in all, silence how long a server may send
	// nothing, and pause how long to wait before it is asked again if nothing else is said.
	limit   = 10 * time.Minute
	silence = 30 * time.Second
	pause   = time.Second
	// maxObjects is how large all that a repository sends may be.
	maxObjects = 4 * bundle.MaxBytes
)

// Source is a place to fetch content from.
type Source struct {
	bundle.Reference
	Credentials bundle.Credentials
	// Destination is the folder that the content is laid into; "" is the top.
	Destination string
	// Bare asks for the commit of a branch or tag of a Git repository alone: there are no files.
	Bare bool
}

// Fetcher fetches sources.
type Fetcher struct {
	// Cache keeps pinned content.
	Cache Cache
	// Track allows references that is not pinned.
	Track bool
	// ConfigMaps reads those of a namespace; nil where there is no cluster.
	ConfigMaps func(ctx context.Context, names []string) (bundle.Tree, error)
	// Mirrors are hosts to ask before a registry, by the registry's host.
	Mirrors map[string][]string
	// Destinations returns the rules about servers; nil lets all through, as a person at a command line
	// may reach what the machine reaches.
	Destinations func(ctx context.Context) (destination.Rules, error)
	// Builtin is the program's own content, for references to it; nil for none.
	Builtin fs.FS
	// Pause is how long to wait before a server is asked again; 0 for a second.
	Pause time.Duration
}

// Fetch returns what all sources hold, laid over each other in the order given, and the
// references with the digests that they have turned out to mean.
func (f Fetcher) Fetch(ctx context.Context, sources ...Source) (bundle.Tree, []bundle.Reference, error) {
	layers, resolved := make([]bundle.Layer, len(sources)), make([]bundle.Reference, len(sources))
	for i, s := range sources {
		if err := s.Pinned(); err != nil && !f.Track {
			return bundle.Tree{}, nil, err
		}
		tree, digest, err := f.cached(ctx, s)
		if err != nil {
			return bundle.Tree{}, nil, fmt.Errorf("cannot fetch %s: %w", s.Reference, err)
		}
		layers[i] = bundle.Layer{Destination: s.Destination, Tree: tree}
		resolved[i] = s.Reference
		resolved[i].Digest = digest
	}
	all, err := bundle.Overlay(layers...)
	return all, resolved, err
}

// cached returns pinned content from the cache, and puts it there.
func (f Fetcher) cached(ctx context.Context, s Source) (bundle.Tree, string, error) {
	if !cacheable(s) {
		return f.folder(ctx, s)
	}
	if tree, ok := f.Cache.get(s); ok {
		return tree, s.Digest, nil
	}
	tree, digest, err := f.folder(ctx, s)
	if err == nil {
		_ = f.Cache.put(s, tree) // what is not kept is fetched again
	}
	return tree, digest, err
}

// cacheable reports whether a source always has the same content.
func cacheable(s Source) bool { return s.Origin != bundle.Local && s.Digest != "" }

// folder returns the part of a source's content that its reference means.
func (f Fetcher) folder(ctx context.Context, s Source) (bundle.Tree, string, error) {
	tree, digest, err := f.fetch(ctx, s)
	if err == nil {
		tree, err = tree.Sub(s.Folder)
	}
	return tree, digest, err
}

// fetch reads the source itself, and returns the digest of its content; a folder and an archive of the machine have
// none.
func (f Fetcher) fetch(ctx context.Context, s Source) (bundle.Tree, string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no complete answer within %s", limit))
	defer cancel()
	switch s.Origin {
	case bundle.ConfigMaps:
		if f.ConfigMaps == nil {
			return bundle.Tree{}, "", errors.New("configmaps: works only in a BundleDeployment, not on a command line")
		}
		tree, err := f.ConfigMaps(ctx, strings.Split(s.Location, ","))
		return tree, "", err
	case bundle.Local:
		tree, err := local(s.Location)
		return tree, "", err
	case bundle.Builtin:
		if f.Builtin == nil {
			return bundle.Tree{}, "", errors.New("builtin: works only in the command orcon")
		}
		tree, err := directory.Files(f.Builtin)
		return tree, "", err
	case bundle.HTTP, bundle.Image, bundle.Git, bundle.GraphQL:
		return f.remote(ctx, s)
	default:
		return bundle.Tree{}, "", fmt.Errorf("unknown origin %q", s.Origin)
	}
}

// remote asks a server.
func (f Fetcher) remote(ctx context.Context, s Source) (bundle.Tree, string, error) {
	carry, dial, err := f.ways(ctx, s.Credentials.CA)
	if err != nil {
		return bundle.Tree{}, "", err
	}
	switch s.Origin {
	case bundle.Image:
		client := oci.Client{
			Transport: carry, Credentials: s.Credentials, Mirrors: f.Mirrors, Pause: cmp.Or(f.Pause, pause), Untar: archive.Untar,
		}
		return client.Fetch(ctx, s.Reference)
	case bundle.Git:
		return s.repository(ctx, git.Client{Transport: carry, Dial: dial, Credentials: s.Credentials, Limit: maxObjects})
	default:
		client := web.Client{Transport: carry, Credentials: s.Credentials, Silence: silence, Pause: cmp.Or(f.Pause, pause)}
		if s.Origin == bundle.GraphQL {
			return qontract.Client{Client: client}.Fetch(ctx, s.Location)
		}
		packed, err := client.Fetch(ctx, s.Location, s.Digest)
		if err != nil {
			return bundle.Tree{}, "", err
		}
		tree, err := unpack(s.Location, packed)
		return tree, web.Sum(packed), err
	}
}

// repository returns the files of a repository, unless the source is bare, and their commit.
func (s Source) repository(ctx context.Context, c git.Client) (bundle.Tree, string, error) {
	if !s.Bare {
		return c.Fetch(ctx, s.Reference)
	}
	commit, err := c.Head(ctx, s.Reference)
	return bundle.Tree{}, commit, err
}

// unpack returns what a web server sent: the files of an archive, or one file that is a JSON object.
func unpack(location string, sent []byte) (tree bundle.Tree, err error) {
	if !bytes.HasPrefix(bytes.TrimSpace(sent), []byte("{")) {
		return archive.Unpack(sent)
	}
	name := "content.json"
	if address, err := url.Parse(location); err == nil && plain.IsManifest(path.Base(address.Path)) {
		name = path.Base(address.Path)
	}
	err = tree.Add(name, bundle.File{Content: sent})
	return tree, err
}

// ways returns how servers are reached: over HTTP, trusting an authority, and over SSH.
func (f Fetcher) ways(ctx context.Context, authority string) (http.RoundTripper, git.Dial, error) {
	transport, err := Trusting(authority)
	if err != nil {
		return nil, nil, err
	}
	if f.Destinations == nil {
		return egress.Open(transport), nil, nil
	}
	rules, err := f.Destinations(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot find out which servers are refused: %w", err)
	}
	guard := egress.Guard{Rules: rules}
	return guard.Transport(transport), guard.DialByProxy, nil
}

// local reads a folder, an archive or one manifest.
func local(path string) (bundle.Tree, error) {
	folder, err := directory.IsFolder(path)
	if err != nil {
		return bundle.Tree{}, err
	}
	if folder {
		return directory.Read(path)
	}
	packed, err := directory.File(path)
	if err != nil {
		return bundle.Tree{}, err
	}
	name := filepath.Base(path)
	if !plain.IsManifest(name) {
		return archive.Unpack(packed)
	}
	var tree bundle.Tree
	err = tree.Add(name, bundle.File{Content: packed})
	return tree, err
}

// Trusting returns what carries requests to servers whose certificates the machine or an authority of one's own has signed,
// which is PEM; "" is none.
func Trusting(authority string) (*http.Transport, error) {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the standard library's transport was replaced")
	}
	transport := base.Clone()
	if authority == "" {
		return transport, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a machine without any
	}
	if !pool.AppendCertsFromPEM([]byte(authority)) {
		return nil, errors.New("cannot use ca.crt: it holds no certificate in PEM")
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return transport, nil
}
