package removal

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	jobv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// HeldRuns lists the JobRuns of all namespaces that the controller of stateful runs has yet to end, as namespace/name.
// Without it their definition stays, since it waits for them.
func (c Cluster) HeldRuns(ctx context.Context) ([]string, error) {
	var all jobv1alpha1.JobRunList
	err := c.list(ctx, &all)
	var names []string
	for i := range all.Items {
		if r := &all.Items[i]; controllerutil.ContainsFinalizer(r, jobv1alpha1.Finalizer) {
			names = append(names, r.Namespace+"/"+r.Name)
		}
	}
	return names, err
}

// jobs lists what waits for the controller of stateful runs.
func (h Holds) jobs(ctx context.Context) ([]Held, error) {
	var workspaces jobv1alpha1.JobWorkspaceList
	var all jobv1alpha1.JobRunList
	runs, err := h.Runs(ctx, JobController)
	if err := errors.Join(err, h.list(ctx, &workspaces), h.list(ctx, &all)); err != nil || runs {
		return nil, err
	}
	var held []Held
	hold := func(kind, leaves string, o client.Object) {
		if o.GetDeletionTimestamp() != nil && controllerutil.ContainsFinalizer(o, jobv1alpha1.Finalizer) {
			held = append(held, Held{
				Name: kind + " " + o.GetNamespace() + "/" + o.GetName(), Leaves: leaves, object: o, finalizer: jobv1alpha1.Finalizer,
			})
		}
	}
	for i := range workspaces.Items {
		hold("JobWorkspace", "what its runs have made stays, and so do its states in the store", &workspaces.Items[i])
	}
	for i := range all.Items {
		hold("JobRun", "its pod stays if it still runs, and its end is not known", &all.Items[i])
	}
	return held, nil
}
