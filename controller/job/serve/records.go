package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Change stores what decide makes of a Workspace in one conditional write, and decides anew if it has changed meanwhile.
func Change(
	ctx context.Context, all Workspaces, uid string, decide func(workspace.Workspace) (workspace.Workspace, error),
) (workspace.Workspace, error) {
	return (&API{Workspaces: all}).change(ctx, uid, decide)
}

// Records reads and writes what lies beside archives and chunks in the store, for decisions that come in another way:
// who claimed a fence, and which generations exist.
type Records struct{ Store blob.Store }

// Claim records who claims a fence, once.
func (r Records) Claim(ctx context.Context, uid string, fence int64, id string) error {
	return (&API{Store: r.Store}).record(ctx, uid, fence, id)
}

// Generation records that the current generation of a stored Workspace exists.
func (r Records) Generation(ctx context.Context, uid string, w workspace.Workspace) {
	(&API{Store: r.Store}).generation(ctx, uid, w)
}

// Newest returns the archive of the newest generation that the store has a record of; the zero value for none. If
// lineages have parted, that of the highest fence counts.
func (r Records) Newest(ctx context.Context, uid string) (workspace.Blob, error) {
	all, err := r.Store.List(ctx, uid)
	if err != nil {
		return workspace.Blob{}, err
	}
	var newest blob.Key
	for _, one := range all { // in order of their fences
		if strings.HasPrefix(one.Key.Name, generationPrefix) && one.Key.Name >= newest.Name {
			newest = one.Key
		}
	}
	if newest.Name == "" {
		return workspace.Blob{}, nil
	}
	in, err := r.Store.Get(ctx, newest)
	if err != nil {
		return workspace.Blob{}, err
	}
	defer in.Close() //nolint:errcheck // it is only read
	var known record
	if err := json.NewDecoder(in).Decode(&known); err != nil {
		return workspace.Blob{}, fmt.Errorf("cannot read blob %s: %w", newest, err)
	}
	return workspace.Blob{Digest: known.Digest, Key: known.Key, Fence: newest.Fence}, nil
}
