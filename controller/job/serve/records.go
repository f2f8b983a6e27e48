package serve

import (
	"context"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
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

// Generation records that the current generation of a stored Workspace exists, as a person's decision has made it.
func (r Records) Generation(ctx context.Context, uid string, w workspace.Workspace) {
	if err := evidence.RecordDecided(ctx, r.Store, uid, w); err != nil {
		glog.Warning(err)
	}
}
