package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// The names of the records below a fence.
const (
	ClaimantName     = "claimant"
	generationPrefix = "generation-"
	// StatePrefix begins the names of archives, PlanPrefix those of archives of plans.
	StatePrefix = "state-"
	PlanPrefix  = "plan-"
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

// Uploaded returns the newest archive of the hold, if no end or checkpoint has named it; the zero value for none. One that has
// not the form that a capture writes, or is larger than the limit, is left.
func Uploaded(ctx context.Context, store blob.Store, uid string, w workspace.Workspace, limit int64) (workspace.Blob, error) {
	if !w.Lock.Held() {
		return workspace.Blob{}, nil
	}
	all, err := store.Below(ctx, uid, w.Lock.Fence, StatePrefix)
	if err != nil || len(all) == 0 {
		return workspace.Blob{}, err
	}
	key := slices.MaxFunc(all, func(a, b blob.Info) int {
		return cmp.Or(a.Stored.Compare(b.Stored), cmp.Compare(unnamed(w, a), unnamed(w, b)))
	}).Key
	if w.Names(key.String()) {
		return workspace.Blob{}, nil
	}
	in, err := store.Get(ctx, key)
	if err != nil {
		return workspace.Blob{}, err
	}
	defer in.Close() //nolint:errcheck // it is only read
	archive := &download{in: in}
	summary, err := state.Verify(archive, limit)
	if archive.err != nil {
		return workspace.Blob{}, fmt.Errorf("cannot read archive %s: %w", key, archive.err)
	}
	if err != nil {
		glog.Warningf("archive %s of %s is not kept: %v", key, w.Name, err)
		return workspace.Blob{}, nil
	}
	return workspace.Blob{Digest: summary.Digest, Key: key.String(), Fence: key.Fence}, nil
}

// unnamed returns 1 for an archive that a Workspace does not name, and 0 for another one. Servers with the S3 API count times
// in seconds: of archives of one second that which no end has named came last.
func unnamed(w workspace.Workspace, archive blob.Info) int {
	if w.Names(archive.Key.String()) {
		return 0
	}
	return 1
}

// download remembers an error of its store, which the content has not caused.
type download struct {
	in  io.Reader
	err error
}

// Read implements io.Reader.
func (r *download) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
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
