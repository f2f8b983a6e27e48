package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Names of blobs that the API stores below a fence. Keepers write only names that begin with statePrefix.
const (
	claimantName     = "claimant"
	generationPrefix = "generation-"
	statePrefix      = "state-"
)

// maxClaimant is how long the ID of a claimant may be, in bytes.
const maxClaimant = 1 << 10

// claimant returns the claimant that the store's record of a fence names; "" for none.
func (a *API) claimant(ctx context.Context, uid string, fence int64) (string, error) {
	if fence == 0 {
		return "", nil
	}
	in, err := a.Store.Get(ctx, blob.Key{Workspace: uid, Fence: fence, Name: claimantName})
	if errors.Is(err, blob.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxClaimant))
	return string(text), errors.Join(err, in.Close())
}

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
	id, err := a.claimant(ctx, c.Workspace, fence)
	if err == nil && id != c.Claimant.ID {
		err = fmt.Errorf("cannot use fence %d: %w: it is not that of this keeper", fence, workspace.ErrHeld)
	}
	return err
}

// generation records that a generation exists, after the Workspace has it, so that a Workspace which is restored to a
// time before is known to be behind. A record that is lost is written with the next one.
func (a *API) generation(ctx context.Context, uid string, w workspace.Workspace) {
	g := w.State
	key := blob.Key{Workspace: uid, Fence: g.Fence, Name: fmt.Sprintf("%s%0*d", generationPrefix, generationDigits, g.Number)}
	if g.Number == 0 || key.Check() != nil {
		return
	}
	text, err := json.Marshal(record{g.Digest, g.Key})
	if err == nil {
		err = a.Store.Put(ctx, key, strings.NewReader(string(text)))
	}
	if err != nil {
		glog.Warningf("cannot record generation %d of %s in the store: %v", g.Number, w.Name, err)
	}
}

// record is the content of a generation's record.
type record struct {
	Digest string `json:"digest"`
	Key    string `json:"key"`
}

// generationDigits is the number of digits of a generation in a name.
const generationDigits = 10

// extent returns how far the store reaches. A generation that the Workspace does not know was recorded below its fence,
// or after a higher one was claimed: so all blobs are listed only where a person has to decide.
func (a *API) extent(ctx context.Context, uid string, w workspace.Workspace) (workspace.Extent, error) {
	fences, err := a.Store.Fences(ctx, uid)
	if err != nil || len(fences) == 0 {
		return workspace.Extent{}, err
	}
	e := workspace.Extent{Fence: slices.Max(fences)}
	var found []blob.Info
	if e.Fence > w.Fence {
		found, err = a.Store.List(ctx, uid)
	} else {
		found, err = a.Store.Below(ctx, uid, w.Fence, generationPrefix)
	}
	if err != nil {
		return workspace.Extent{}, err
	}
	for _, one := range found {
		text, ok := strings.CutPrefix(one.Key.Name, generationPrefix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return e, fmt.Errorf("cannot read the name of blob %s: %w", one.Key, err)
		}
		e.Generation = max(e.Generation, n)
	}
	return e, nil
}
