package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// Extent returns how far the store reaches for a Workspace. It lists everything that the store has of it.
func Extent(ctx context.Context, store blob.Store, uid string) (workspace.Extent, error) {
	var e workspace.Extent
	all, err := store.List(ctx, uid)
	for _, one := range all {
		e.Fence = max(e.Fence, one.Key.Fence)
		if text, ok := strings.CutPrefix(one.Key.Name, GenerationPrefix); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return e, fmt.Errorf("cannot read the name of blob %s: %w", one.Key, err)
			}
			e.Generation = max(e.Generation, n)
		}
	}
	return e, err
}
