package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Repository is a repository on the machine. It is only read.
type Repository struct {
	repository *gogit.Repository
	// top is the folder of the work tree.
	top string
}

// ErrNoRepository is returned for a folder that lies in no work tree.
var ErrNoRepository = errors.New("it lies in no work tree of git")

// ErrUnknown is returned for a revision that a repository does not have.
var ErrUnknown = errors.New("the repository has no such revision")

// Open returns the repository whose work tree a folder lies in.
func Open(folder string) (Repository, error) {
	if _, err := os.Stat(folder); err != nil {
		return Repository{}, ErrNoRepository // the library would look at the folders above it
	}
	repository, err := gogit.PlainOpenWithOptions(folder, &gogit.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, gogit.ErrRepositoryNotExists) {
		return Repository{}, ErrNoRepository
	}
	if err != nil {
		return Repository{}, fmt.Errorf("cannot open the repository of %s: %w", folder, err)
	}
	tree, err := repository.Worktree()
	if err != nil {
		return Repository{}, ErrNoRepository // a bare repository
	}
	top, err := filepath.EvalSymlinks(tree.Filesystem.Root())
	if err != nil {
		return Repository{}, fmt.Errorf("cannot find the work tree: %w", err)
	}
	return Repository{repository, top}, nil
}

// Path returns the path of a folder in the work tree; "" is the top. It reports false for a folder elsewhere.
func (r Repository) Path(folder string) (string, bool) {
	at, err := filepath.Abs(folder)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return "", false
	}
	below, err := filepath.Rel(r.top, at)
	below = filepath.ToSlash(below)
	if err != nil || below == ".." || strings.HasPrefix(below, "../") {
		return "", false
	}
	return strings.TrimPrefix(below, "."), true
}

// Commit returns the commit that a revision names, as git rev-parse does: a branch, a tag, a commit's beginning, and
// steps back from it, such as HEAD~1. A name that is a branch and a tag of two commits is refused.
func (r Repository) Commit(revision string) (string, error) {
	if err := r.unambiguous(revision); err != nil {
		return "", err
	}
	hash, err := r.repository.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		return "", fmt.Errorf("%w: %q", ErrUnknown, revision)
	}
	return hash.String(), nil
}

// unambiguous refuses a revision that begins with the name of a branch and of a tag, unless both are one commit.
func (r Repository) unambiguous(revision string) error {
	name, _, _ := strings.Cut(revision, "~")
	name, _, _ = strings.Cut(name, "^")
	branch, err := r.repository.ResolveRevision(plumbing.Revision(plumbing.NewBranchReferenceName(name)))
	if err != nil {
		return nil //nolint:nilerr // other names are not ambiguous
	}
	tag, err := r.repository.ResolveRevision(plumbing.Revision(plumbing.NewTagReferenceName(name)))
	if err != nil || *tag == *branch {
		return nil //nolint:nilerr // other names are not ambiguous
	}
	return fmt.Errorf("%q is a branch and a tag: write refs/heads/%s or refs/tags/%s", name, name, name)
}

// Names returns the names of all branches and tags, those of remote repositories included.
func (r Repository) Names() []string {
	all, err := r.repository.References()
	if err != nil {
		return nil
	}
	var names []string
	_ = all.ForEach(func(reference *plumbing.Reference) error {
		names = append(names, reference.Name().Short())
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Files returns the files below a folder of a commit, as the work tree would have them. It reports false if the commit
// has no such folder.
func (r Repository) Files(commit, folder string) (bundle.Tree, bool, error) {
	tree, err := r.files(plumbing.NewHash(commit), folder)
	switch {
	case errors.Is(err, object.ErrDirectoryNotFound), errors.Is(err, object.ErrEntryNotFound):
		return bundle.Tree{}, false, nil
	case errors.Is(err, plumbing.ErrObjectNotFound):
		err = errors.New("the clone lacks a part of it: clone without --depth and --filter")
	}
	if err != nil {
		return bundle.Tree{}, false, fmt.Errorf("cannot read commit %s: %w", commit, err)
	}
	return tree, true, nil
}

func (r Repository) files(commit plumbing.Hash, folder string) (bundle.Tree, error) {
	at, err := r.repository.CommitObject(commit)
	if err != nil {
		return bundle.Tree{}, err
	}
	top, err := at.Tree()
	if err == nil && folder != "" {
		top, err = top.Tree(folder)
	}
	if err != nil {
		return bundle.Tree{}, err
	}
	tree, err := files(r.repository.Storer, top, "")
	return tree, errors.Join(err, tree.Unlinked())
}
