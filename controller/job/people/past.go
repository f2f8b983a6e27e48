package people

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
)

// runs lists the Runs of a JobWorkspace that the store has the end of, the last one first.
func (a *API) runs(w http.ResponseWriter, r *http.Request, c call) error {
	_, past, err := a.past(r.Context(), c, c.name)
	if err != nil {
		return err
	}
	list := v1alpha1.JobRunList{
		TypeMeta: metav1.TypeMeta{Kind: "JobRunList", APIVersion: v1alpha1.GroupVersion.String()}, Items: []v1alpha1.JobRun{},
	}
	for _, one := range past {
		run := v1alpha1.JobRun{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: c.namespace, Name: one.Name, UID: types.UID(one.UID), CreationTimestamp: metav1.NewTime(one.Created),
			},
			Spec: v1alpha1.JobRunSpec{Workspace: c.name}, State: &one.State,
		}
		if one.State.Input != nil {
			run.Spec.Action = one.State.Input.Action
		}
		list.Items = append(list.Items, run)
	}
	return write(w, http.StatusOK, list)
}

// past returns the UID of a JobWorkspace, and the Runs that the store has the end of.
func (a *API) past(ctx context.Context, c call, workspace string) (uid string, all []evidence.Run, err error) {
	if uid, err = a.Objects.Workspace(ctx, c.namespace, workspace); err == nil {
		all, err = evidence.Runs(ctx, a.Store, uid)
	}
	return uid, all, err
}

// run finds a run by its object, or by what the store has of its JobWorkspace, where that is named.
func (a *API) run(ctx context.Context, c call, workspace string) (Run, error) {
	run, err := a.Objects.Run(ctx, c.namespace, c.name)
	if !errors.Is(err, ErrNotFound) {
		return run, err
	}
	if workspace == "" {
		return run, fmt.Errorf("%w: if the run is old, name its JobWorkspace with --workspace", err)
	}
	uid, past, err := a.past(ctx, c, workspace)
	if err != nil {
		return run, err
	}
	for _, one := range past {
		if end := one.State.End; one.Name == c.name && end != nil {
			return Run{Workspace: uid, Attempt: int(end.Attempt), Fence: end.Fence, Ended: true}, nil
		}
	}
	return run, fmt.Errorf("cannot read the log of JobRun %s: %w: `orcon job runs %s/%s --past` lists those whose logs are kept",
		c, ErrNotFound, c.namespace, workspace)
}
