package evidence

import (
	"context"
	"errors"
	"io"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// The names of the records below a fence.
const (
	ClaimantName     = "claimant"
	generationPrefix = "generation-"
	// StatePrefix begins the names of archives.
	StatePrefix = "state-"
	// RunName is that of the manifest of the Run that held the lock last with the fence.
	RunName = "run"
)

// maxClaimant is how long the ID of a claimant may be, in bytes.
const maxClaimant = 1 << 10

// Claimant returns the claimant that the store's record of a fence names; "" for none.
func Claimant(ctx context.Context, store blob.Store, uid string, fence int64) (string, error) {
	if fence == 0 {
		return "", nil
	}
	in, err := store.Get(ctx, blob.Key{Workspace: uid, Fence: fence, Name: ClaimantName})
	if errors.Is(err, blob.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxClaimant))
	return string(text), errors.Join(err, in.Close())
}

// Extent returns how far the store reaches for a Workspace. A generation that the Workspace does not know was recorded below
// its fence, or after a higher one was claimed: so all blobs are listed only where a person has to decide. What the
// last one of its name left counts for one that has used no fence.
func Extent(ctx context.Context, store blob.Store, uid string, w workspace.Workspace) (workspace.Extent, error) {
	var e workspace.Extent
	if w.Fence == 0 {
		left, err := LeftBy(ctx, store, w.Name)
		if err != nil {
			return e, err
		}
		left = slices.DeleteFunc(left, func(l Left) bool { return l.UID == uid })
		if len(left) > 0 && left[0].Waits() { // what the last one decided counts for those before it
			e.Left = left[0].Generation
		}
	}
	fences, err := store.Fences(ctx, uid)
	if err != nil || len(fences) == 0 {
		return e, err
	}
	e.Fence = slices.Max(fences)
	var found []blob.Info
	if e.Fence > w.Fence {
		found, err = store.List(ctx, uid)
	} else {
		found, err = store.Below(ctx, uid, w.Fence, generationPrefix)
	}
	if err != nil {
		return workspace.Extent{}, err
	}
	for _, one := range found {
		n, _, err := numberOf(one.Key)
		if err != nil {
			return e, err
		}
		e.Generation = max(e.Generation, n)
	}
	return e, nil
}
