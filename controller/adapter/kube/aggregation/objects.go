package aggregation

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
)

// Objects finds JobWorkspaces, JobRuns and JobTemplates by their names.
type Objects struct {
	// Reader reads objects themselves, not cached copies.
	Reader client.Reader
}

// Workspace implements people.Objects.
func (o Objects) Workspace(ctx context.Context, namespace, name string) (string, error) {
	w, err := o.workspace(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	return string(w.UID), nil
}

func (o Objects) workspace(ctx context.Context, namespace, name string) (*v1alpha1.JobWorkspace, error) {
	w := &v1alpha1.JobWorkspace{}
	return w, o.get(ctx, "JobWorkspace", namespace, name, w)
}

// Template implements people.Objects.
func (o Objects) Template(ctx context.Context, namespace, name string) (string, error) {
	t := &v1alpha1.JobTemplate{}
	if err := o.get(ctx, "JobTemplate", namespace, name, t); err != nil {
		return "", err
	}
	return string(t.UID), nil
}

// get reads an object of a kind.
func (o Objects) get(ctx context.Context, kind, namespace, name string, into client.Object) error {
	err := o.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("cannot find %s %s/%s: %w", kind, namespace, name, people.ErrNotFound)
	case err != nil:
		return fmt.Errorf("cannot read %s %s/%s: %w", kind, namespace, name, err)
	}
	return nil
}

// Run implements people.Objects. The log of a run lies with its JobWorkspace, and is not that of a later one of its name.
func (o Objects) Run(ctx context.Context, namespace, name string) (people.Run, error) {
	var r v1alpha1.JobRun
	if err := o.get(ctx, "JobRun", namespace, name, &r); err != nil {
		return people.Run{}, err
	}
	w, err := o.workspace(ctx, namespace, r.Spec.Workspace)
	if err != nil {
		return people.Run{}, fmt.Errorf("cannot find the log of JobRun %s/%s: %w", namespace, name, err)
	}
	if r.CreationTimestamp.Before(&w.CreationTimestamp) {
		return people.Run{}, fmt.Errorf("cannot find the log of JobRun %s/%s: %w: its JobWorkspace was deleted, and another one has its name",
			namespace, name, people.ErrNotFound)
	}
	run := people.Run{Workspace: string(w.UID), Attempt: int(r.Status.Attempt), Fence: r.Status.Fence}
	if r.State != nil && r.State.End != nil {
		run.Attempt, run.Fence, run.Ended = int(r.State.End.Attempt), r.State.End.Fence, true
	}
	return run, nil
}
