package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// The names of the records below a fence.
const (
	ClaimantName     = "claimant"
	GenerationPrefix = "generation-"
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
// its fence, or after a higher one was claimed: so all blobs are listed only where a person has to decide.
func Extent(ctx context.Context, store blob.Store, uid string, w workspace.Workspace) (workspace.Extent, error) {
	fences, err := store.Fences(ctx, uid)
	if err != nil || len(fences) == 0 {
		return workspace.Extent{}, err
	}
	e := workspace.Extent{Fence: slices.Max(fences)}
	var found []blob.Info
	if e.Fence > w.Fence {
		found, err = store.List(ctx, uid)
	} else {
		found, err = store.Below(ctx, uid, w.Fence, GenerationPrefix)
	}
	if err != nil {
		return workspace.Extent{}, err
	}
	for _, one := range found {
		text, ok := strings.CutPrefix(one.Key.Name, GenerationPrefix)
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
