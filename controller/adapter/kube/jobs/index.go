package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// indexUID is the index of objects by their UID.
const indexUID = "metadata.uid"

// Index has caches find JobWorkspaces by their UID, and JobRuns that have not ended.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, kind := range []client.Object{&v1alpha1.JobWorkspace{}, &v1alpha1.JobRun{}} {
		if err := indexer.IndexField(ctx, kind, indexUID, uidOf); err != nil {
			return fmt.Errorf("cannot index the kinds of runs, whose definitions must be in the cluster: %w", err)
		}
	}
	return nil
}

// uidOf returns the UID of an object for the index; none of a JobRun that has ended: most are such, and an index has a map
// for each.
func uidOf(o client.Object) []string {
	if r, is := o.(*v1alpha1.JobRun); is && len(r.Finalizers) == 0 && r.State != nil && r.State.End != nil {
		return nil
	}
	return []string{string(o.GetUID())}
}

// Objects reads objects of runs.
type Objects struct {
	// Cache has the index of Index; Live reads from the API server itself.
	Cache, Live client.Reader
}

// Spec returns the spec of the JobWorkspace with a UID, as the cache has it.
func (o Objects) Spec(ctx context.Context, uid string) (v1alpha1.JobWorkspaceSpec, error) {
	var found v1alpha1.JobWorkspaceList
	if err := o.find(ctx, uid, &found); err != nil || len(found.Items) == 0 {
		return v1alpha1.JobWorkspaceSpec{}, missing("JobWorkspace", uid, err)
	}
	return found.Items[0].Spec, nil
}

// workspace returns the JobWorkspace with a UID.
func (o Objects) workspace(ctx context.Context, uid string) (*v1alpha1.JobWorkspace, error) {
	var found v1alpha1.JobWorkspaceList
	if err := o.find(ctx, uid, &found); err != nil || len(found.Items) == 0 {
		return nil, missing("JobWorkspace", uid, err)
	}
	var w v1alpha1.JobWorkspace
	err := o.Live.Get(ctx, client.ObjectKeyFromObject(&found.Items[0]), &w)
	if err != nil || string(w.UID) != uid {
		return nil, missing("JobWorkspace", uid, err)
	}
	return &w, nil
}

// run returns the JobRun with a UID.
func (o Objects) run(ctx context.Context, uid string) (*v1alpha1.JobRun, error) {
	var found v1alpha1.JobRunList
	err := o.find(ctx, uid, &found)
	if err == nil && len(found.Items) == 0 { // a late message of one that has ended
		err = o.Cache.List(ctx, &found, client.UnsafeDisableDeepCopy)
	}
	at := slices.IndexFunc(found.Items, func(r v1alpha1.JobRun) bool { return string(r.UID) == uid })
	if err != nil || at < 0 {
		return nil, missing("JobRun", uid, err)
	}
	var r v1alpha1.JobRun
	err = o.Live.Get(ctx, client.ObjectKeyFromObject(&found.Items[at]), &r)
	if err != nil || string(r.UID) != uid {
		return nil, missing("JobRun", uid, err)
	}
	return &r, nil
}

// find lists the objects with a UID that the cache has; they are not to be changed.
func (o Objects) find(ctx context.Context, uid string, into client.ObjectList) error {
	return o.Cache.List(ctx, into, client.MatchingFields{indexUID: uid}, client.UnsafeDisableDeepCopy)
}

// errUnknown is the error of a UID that nothing has, or that a cache does not have yet.
var errUnknown = errors.New("it is gone, or has just been made")

// missing returns the error of an object that could not be read, or is not there.
func missing(kind, uid string, err error) error {
	if err == nil {
		err = errUnknown
	}
	return fmt.Errorf("cannot read the %s with UID %s: %w", kind, uid, err)
}
