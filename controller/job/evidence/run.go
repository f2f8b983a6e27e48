package evidence

import (
	"context"
	"errors"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// Run holds what the store has of a Run that has ended, so that old Runs may go: its manifest.
type Run struct {
	Namespace string               `json:"namespace"`
	Workspace string               `json:"workspace"`
	Name      string               `json:"name"`
	UID       string               `json:"uid"`
	Created   time.Time            `json:"created"`
	State     v1alpha1.JobRunState `json:"state"`
}

// Runs returns the manifests that the store has of a Workspace, that of the highest fence first.
func Runs(ctx context.Context, store blob.Store, uid string) ([]Run, error) {
	fences, err := store.Fences(ctx, uid)
	if err != nil {
		return nil, err
	}
	slices.Sort(fences)
	var all []Run
	for _, fence := range slices.Backward(fences) {
		var r Run
		switch err := read(ctx, store, blob.Key{Workspace: uid, Fence: fence, Name: RunName}, &r); {
		case errors.Is(err, blob.ErrNotFound): // it has no end yet, or another attempt had one
		case err != nil:
			return nil, err
		default:
			all = append(all, r)
		}
	}
	return all, nil
}
