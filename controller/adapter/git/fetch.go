package git

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/egress"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// fetched is the local name of the fetched commit.
const fetched = "refs/orcon/fetched"

// Client fetches from repositories.
type Client struct {
	// Transport carries requests over HTTP, and trusts the authority of the credentials; nil is the
	// library's. Dial opens connections for SSH; nil is by the machine's own proxy, where it has one.
	Transport   http.RoundTripper
	Dial        Dial
	Credentials bundle.Credentials
	// Limit is how many bytes all objects that a server sends may have, unpacked.
	Limit int64
}

// Fetch returns the files of the reference's commit, below its folder but with their
// whole paths, and the commit. A link or a submodule among them is not followed.
func (c Client) Fetch(ctx context.Context, r bundle.Reference) (bundle.Tree, string, error) {
	ctx, f, end, err := c.open(ctx, r.Location)
	if err != nil {
		return bundle.Tree{}, "", err
	}
	defer end()
	commit, err := f.commit(ctx, r)
	if err != nil {
		return bundle.Tree{}, "", fmt.Errorf("cannot fetch from the repository: %w", failure(ctx, err))
	}
	tree, err := read(f.store, commit, r.Folder)
	if err != nil {
		return bundle.Tree{}, "", fmt.Errorf("cannot use commit %s: %w", commit, err)
	}
	return tree, commit.String(), nil
}

// Head returns the commit of the branch or tag that the reference names, and fetches no files.
func (c Client) Head(ctx context.Context, r bundle.Reference) (string, error) {
	ctx, f, end, err := c.open(ctx, r.Location)
	if err != nil {
		return "", err
	}
	defer end()
	name, all, err := f.find(ctx, r.Version)
	if err != nil {
		return "", fmt.Errorf("cannot look a commit up in the repository: %w", failure(ctx, err))
	}
	commit := ""
	for _, one := range all {
		if one.Name() == name || one.Name() == name+"^{}" { // the commit of a tag that is an object follows the tag
			commit = one.Hash().String()
		}
	}
	return commit, nil
}

// open returns what fetches from a repository, with its context, until it is ended.
func (c Client) open(ctx context.Context, location string) (context.Context, *fetching, func(), error) {
	auth, err := c.auth(location)
	if err != nil {
		return ctx, nil, nil, err
	}
	ctx, end := context.WithCancel(carriedBy(ctx, egress.Private(c.Transport)))
	f := &fetching{
		options: gogit.FetchOptions{RemoteName: "origin", Auth: auth, Tags: gogit.NoTags},
		store:   &bounded{Storage: memory.NewStorage(), left: c.Limit},
	}
	if overSSH(location) {
		way, closed := openWay(ctx, c.Dial)
		f.options.ProxyOptions = way
		cancel := end
		end = func() { closed(); cancel() }
	}
	f.remote = gogit.NewRemote(f.store, &config.RemoteConfig{Name: "origin", URLs: []string{location}})
	return ctx, f, end, nil
}

// fetching is one fetch.
type fetching struct {
	remote  *gogit.Remote
	options gogit.FetchOptions
	store   *bounded
}

// commit fetches what a reference means and returns the commit.
func (f *fetching) commit(ctx context.Context, r bundle.Reference) (plumbing.Hash, error) {
	if r.Digest != "" {
		return f.pinned(ctx, r.Digest)
	}
	name, _, err := f.find(ctx, r.Version)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if err := f.fetch(ctx, 1, name.String()+":"+fetched); err != nil {
		return plumbing.ZeroHash, err
	}
	at, err := f.store.Reference(fetched)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	tag, err := object.GetTag(f.store, at.Hash())
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return at.Hash(), nil
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	commit, err := tag.Commit()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return commit.Hash, nil
}

// pinned fetches one commit; all branches and tags where a server gives out those only.
func (f *fetching) pinned(ctx context.Context, digest string) (plumbing.Hash, error) {
	err := f.fetch(ctx, 1, digest+":"+fetched)
	if errors.Is(err, gogit.ErrExactSHA1NotSupported) {
		err = f.fetch(ctx, 0, "refs/heads/*:refs/orcon/heads/*", "refs/tags/*:refs/orcon/tags/*")
	}
	return plumbing.NewHash(digest), err
}

// find returns the branch or the tag of a version, and all that the repository has; for "" the default branch alone.
func (f *fetching) find(ctx context.Context, version string) (plumbing.ReferenceName, []*plumbing.Reference, error) {
	if version == "" {
		return plumbing.HEAD, nil, nil
	}
	all, err := f.remote.ListContext(ctx, &gogit.ListOptions{
		Auth: f.options.Auth, ProxyOptions: f.options.ProxyOptions, PeelingOption: gogit.AppendPeeled,
	})
	if err != nil {
		return "", nil, err
	}
	for _, name := range []plumbing.ReferenceName{plumbing.NewBranchReferenceName(version), plumbing.NewTagReferenceName(version)} {
		for _, r := range all {
			if r.Name() == name {
				return name, all, nil
			}
		}
	}
	return "", nil, errorf("no branch or tag is named %q: write a commit with all of its digits", version)
}

func (f *fetching) fetch(ctx context.Context, depth int, specs ...string) error {
	options := f.options
	options.Depth = depth
	for _, s := range specs {
		options.RefSpecs = append(options.RefSpecs, config.RefSpec("+"+s))
	}
	err := f.remote.FetchContext(ctx, &options)
	if errors.Is(err, gogit.NoErrAlreadyUpToDate) {
		return nil
	}
	return err
}

// bounded is a store that takes so many bytes and no more.
type bounded struct {
	*memory.Storage
	left int64
}

// SetEncodedObject implements storer.EncodedObjectStorer.
func (b *bounded) SetEncodedObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	if b.left -= o.Size(); b.left < 0 {
		return plumbing.ZeroHash, fmt.Errorf("%w: the repository is too large: pin a commit, or keep manifests in a repository of their own",
			bundle.ErrLimit)
	}
	return b.Storage.SetEncodedObject(o)
}
