package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/plain"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

const (
	// MaxFetched is how large what the sources of one deployment hold may be, as archives, in bytes.
	MaxFetched = archive.MaxStream
	// MaxRendered is how large what a deployment renders to may be, as JSON, in bytes.
	MaxRendered = plain.MaxRendered
)

// ErrProcess is wrapped by errors about processes and not about content: another attempt may succeed.
var ErrProcess = errors.New("cannot have a child process do this")

// Exceeded reports whether an error is about a limit that a process has reached.
func Exceeded(err error) bool {
	_, exceeded := errors.AsType[exceeding](err)
	return exceeded
}

// exceeding is an error about a limit.
type exceeding interface {
	error
	Exceeded() bool
}

// Run has a process do the work of a Worker: it reads in and writes out. What ends it by force is its error.
type Run func(ctx context.Context, in io.Reader, out io.Writer) error

// Isolated fetches and renders in processes of their own, so that no content can exhaust this one. Content
// lies in files until it is closed, never in memory.
type Isolated struct {
	// Fetching and Rendering run the processes.
	Fetching, Rendering Run
	// Cache keeps pinned content, and holds the files of fetches under way; it must have a folder.
	Cache Cache
	// Mirrors are hosts to ask before a registry, by the registry's host.
	Mirrors map[string][]string
	// Destinations returns the rules about servers; nil lets all through.
	Destinations func(ctx context.Context) (destination.Rules, error)
}

// Fetched is the content of sources. It must be closed.
type Fetched struct {
	// Resolved are the references with the digests that they have turned out to mean.
	Resolved []bundle.Reference

	layers []layer
}

// layer is the content of one source.
type layer struct {
	*packed

	destination string
}

// Size returns how many bytes the content takes on disk.
func (f *Fetched) Size() (size int64) {
	for _, l := range f.layers {
		size += l.size
	}
	return size
}

// Digest tells contents apart, by their bytes and by where they are laid.
func (f *Fetched) Digest() [sha256.Size]byte {
	all := sha256.New()
	for _, l := range f.layers {
		fmt.Fprintf(all, "%d %s %x\n", len(l.destination), l.destination, l.sum.Sum(nil))
	}
	return [sha256.Size]byte(all.Sum(nil))
}

// Tree returns the files of all sources. They are in the memory of this process.
func (f *Fetched) Tree() (bundle.Tree, error) {
	var layers []bundle.Layer
	for _, l := range f.layers {
		layer := bundle.Layer{Destination: l.destination}
		if err := archive.Untar(io.NewSectionReader(l.file, 0, l.size), layer.Tree.Add); err != nil {
			return bundle.Tree{}, fmt.Errorf("cannot read the content: %w", err)
		}
		layers = append(layers, layer)
	}
	return bundle.Overlay(layers...)
}

// Close ends the use of the content.
func (f *Fetched) Close() error {
	var failed error
	for _, l := range f.layers {
		failed = errors.Join(failed, l.file.Close())
	}
	f.layers = nil
	return failed
}

// Fetch returns the content of sources. configMaps reads those of the deployment's namespace.
func (i *Isolated) Fetch(
	ctx context.Context, sources []Source, configMaps func(ctx context.Context, names []string) (bundle.Tree, error),
) (all *Fetched, err error) {
	all = &Fetched{}
	defer func() {
		if err != nil {
			err = errors.Join(err, all.Close())
		}
	}()
	for _, s := range sources {
		digest := s.Digest
		file, found := i.cached(s)
		switch {
		case found:
		case s.Origin == bundle.ConfigMaps:
			file, err = i.pack(ctx, s, configMaps)
		default:
			file, digest, err = i.fetch(ctx, s)
		}
		if err != nil {
			return all, fmt.Errorf("cannot fetch %s: %w", s.Reference, err)
		}
		all.layers = append(all.layers, layer{file, s.Destination})
		resolved := s.Reference
		resolved.Digest = digest
		all.Resolved = append(all.Resolved, resolved)
		if all.Size() > MaxFetched {
			return all, fmt.Errorf("%w: all sources together exceed %d MiB", bundle.ErrLimit, bundle.MaxBytes>>20)
		}
	}
	return all, nil
}

// cached returns the archive of a pinned source, if it is kept.
func (i *Isolated) cached(s Source) (*packed, bool) {
	if !cacheable(s) {
		return nil, false
	}
	return i.Cache.open(s)
}

// pack returns ConfigMaps as an archive.
func (i *Isolated) pack(ctx context.Context, s Source, read func(context.Context, []string) (bundle.Tree, error)) (*packed, error) {
	tree, err := read(ctx, strings.Split(s.Location, ","))
	if err == nil {
		tree, err = tree.Sub(s.Folder)
	}
	if err != nil {
		return nil, err
	}
	file, err := i.Cache.create()
	if err != nil {
		return nil, err
	}
	file.discard()
	if err := archive.Pack(file, &tree); err != nil {
		return nil, errors.Join(err, file.file.Close())
	}
	return file, nil
}

// fetch has a process fetch a source, and returns its archive and digest.
func (i *Isolated) fetch(ctx context.Context, s Source) (*packed, string, error) {
	r := fetchRequest{Source: s, Mirrors: i.Mirrors}
	if i.Destinations != nil {
		rules, err := i.Destinations(ctx)
		if err != nil {
			return nil, "", fmt.Errorf("cannot find out which servers are refused: %w", err)
		}
		r.Rules = &rules
	}
	file, err := i.Cache.create()
	if err != nil {
		return nil, "", err
	}
	a, err := ask(ctx, i.Fetching, request{Fetch: &r}, file)
	if err != nil {
		file.discard()
		return nil, "", errors.Join(err, file.file.Close())
	}
	if !cacheable(s) {
		file.discard()
	} else if err := i.Cache.keep(s, file); err != nil {
		file.discard() // what is not kept is fetched again
	}
	return file, a.Digest, nil
}

// Output is the result of rendering content.
type Output struct {
	// Objects are for Decode.
	Objects []byte
	// Notes tell people what else they should know.
	Notes []string
}

// Render has a process render content.
func (i *Isolated) Render(ctx context.Context, f *Fetched, o Options) (Output, error) {
	r := renderRequest{Options: o}
	var archives []io.Reader
	for _, l := range f.layers {
		r.Layers = append(r.Layers, layerHead{Destination: l.destination, Size: l.size})
		archives = append(archives, io.NewSectionReader(l.file, 0, l.size))
	}
	var objects bytes.Buffer
	a, err := ask(ctx, i.Rendering, request{Render: &r}, &objects, archives...)
	switch {
	case Exceeded(err):
		return Output{}, fmt.Errorf("cannot render: %w", err)
	case err != nil:
		return Output{}, err
	}
	return Output{Objects: objects.Bytes(), Notes: a.Notes}, nil
}

// Decode returns the objects that Render returned.
func Decode(text []byte) ([]bundle.Object, error) { return plain.Decode(text) }

// ask sends a process a request with a body, and writes the body of the answer to out.
func ask(ctx context.Context, run Run, r request, out io.Writer, body ...io.Reader) (outcome, error) {
	var head bytes.Buffer
	if err := writeHead(&head, r); err != nil {
		return outcome{}, err
	}
	// The answer is read from a pipe, since its body follows its head.
	from, to := io.Pipe()
	var a outcome
	read := make(chan error, 1)
	go func() {
		err := readHead(from, &a)
		if err == nil {
			_, err = io.Copy(out, from)
		}
		_ = from.CloseWithError(err)
		read <- err
	}()
	err := run(ctx, io.MultiReader(append([]io.Reader{&head}, body...)...), to)
	_ = to.Close()
	unread := <-read
	switch {
	case Exceeded(err), err != nil && ctx.Err() != nil:
		return outcome{}, err
	case err != nil:
		return outcome{}, fmt.Errorf("%w: %w", ErrProcess, err)
	case unread != nil:
		return outcome{}, fmt.Errorf("%w: cannot read its answer: %w", ErrProcess, unread)
	}
	return a, a.err()
}
