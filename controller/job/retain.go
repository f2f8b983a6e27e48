package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/retention"
)

// retaining keeps what is needed of Runs that have ended.
type retaining struct{ *look }

// record stores the manifest of a Run that has held the lock, below its last fence.
func (l retaining) record(ctx context.Context, o *v1alpha1.JobRun) error {
	if o.State.End.Fence == 0 {
		return nil
	}
	text, err := json.Marshal(evidence.Run{
		Namespace: o.Namespace, Workspace: o.Spec.Workspace, Name: o.Name, UID: string(o.UID), Created: o.CreationTimestamp.UTC(),
		State: *o.State,
	})
	if err == nil {
		key := blob.Key{Workspace: string(l.o.UID), Fence: o.State.End.Fence, Name: evidence.RunName}
		err = l.Store.Put(ctx, key, bytes.NewReader(text))
	}
	if err != nil && !errors.Is(err, blob.ErrConflict) { // another version may have written it otherwise
		return fmt.Errorf("cannot store the manifest of JobRun %s: %w", o.Name, err)
	}
	return nil
}

// prune deletes the objects of old Runs, whose manifests are stored.
func (l retaining) prune(ctx context.Context) error {
	var ended []retention.Ended
	for _, e := range l.runs {
		if e.ended() {
			ended = append(ended, retention.Ended{
				UID: string(e.UID), Ended: since(e.JobRun), Last: string(e.UID) == l.w.Last.Run.UID,
				Drained: !controllerutil.ContainsFinalizer(e.JobRun, v1alpha1.Finalizer),
			})
		}
	}
	gone := retention.Runs(ended, retention.DefaultRuns)
	for _, e := range l.runs {
		if !slices.Contains(gone, string(e.UID)) || !e.DeletionTimestamp.IsZero() {
			continue
		}
		err := l.Client.Delete(ctx, e.JobRun, client.Preconditions{UID: &e.UID, ResourceVersion: &e.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot delete JobRun %s, which is old: %w", e.Name, err)
		}
	}
	return nil
}

// since returns since when a Run is as it is.
func since(o *v1alpha1.JobRun) time.Time {
	last := o.CreationTimestamp.Time
	for _, c := range o.Status.Conditions {
		if c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	return last
}
