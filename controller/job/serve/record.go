package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Names of blobs that the API stores below a fence. Keepers write only names that begin with statePrefix or planPrefix.
const (
	claimantName = evidence.ClaimantName
	statePrefix  = evidence.StatePrefix
	planPrefix   = evidence.PlanPrefix
)

// record records who claims a fence, once.
func (a *API) record(ctx context.Context, uid string, fence int64, id string) error {
	err := a.Store.Put(ctx, blob.Key{Workspace: uid, Fence: fence, Name: claimantName}, strings.NewReader(id))
	if errors.Is(err, blob.ErrConflict) {
		return fmt.Errorf("cannot start on %s: %w: another claimant was first", id, workspace.ErrHeld)
	}
	return err
}

// owned returns an error unless a caller has claimed a fence, be it past or not.
func (a *API) owned(ctx context.Context, c Caller, fence int64) error {
	id, err := evidence.Claimant(ctx, a.Store, c.Workspace, fence)
	if err == nil && id != c.Claimant.ID {
		err = fmt.Errorf("cannot use fence %d: %w: it is not that of this keeper", fence, workspace.ErrHeld)
	}
	return err
}

// generation returns what records that a generation exists, after the Workspace has it, so that a Workspace which is
// restored to a time before is known to be behind. A record that is lost is written with the next one.
func (a *API) generation(uid string, w workspace.Workspace) later {
	return func(ctx context.Context) {
		if err := evidence.Record(ctx, a.Store, uid, w); err != nil {
			glog.Warning(err)
		}
	}
}
