package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/templates"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Workspaces stores Workspaces as JobWorkspaces.
type Workspaces struct {
	Objects

	Writer client.Writer
}

var _ serve.Workspaces = Workspaces{}

// Get implements serve.Workspaces.
func (w Workspaces) Get(ctx context.Context, uid string) (serve.Stored, error) {
	o, err := w.workspace(ctx, uid)
	if err != nil {
		return serve.Stored{}, err
	}
	return w.stored(ctx, o)
}

// Recent implements serve.Workspaces, by the cache. The version is the state itself: the controller writes the status at
// about the same time, which changes the resourceVersion.
func (w Workspaces) Recent(ctx context.Context, uid string) (serve.Stored, error) {
	var found v1alpha1.JobWorkspaceList
	if err := w.find(ctx, uid, &found); err != nil || len(found.Items) == 0 {
		return serve.Stored{}, missing("JobWorkspace", uid, err)
	}
	s, err := w.stored(ctx, &found.Items[0])
	if err == nil && found.Items[0].State != nil {
		var text []byte
		text, err = json.Marshal(found.Items[0].State)
		s.Version = string(text)
	}
	return s, err
}

// stored returns a JobWorkspace with its version.
func (w Workspaces) stored(ctx context.Context, o *v1alpha1.JobWorkspace) (serve.Stored, error) {
	safety, err := w.safety(ctx, o)
	if err != nil {
		return serve.Stored{}, err
	}
	value, err := convert.ToWorkspace(o, safety)
	if err != nil {
		return serve.Stored{}, fmt.Errorf("cannot read JobWorkspace %s/%s: %w", o.Namespace, o.Name, err)
	}
	return serve.Stored{Version: o.ResourceVersion, Workspace: value}, nil
}

// safety returns the safety of the template of a JobWorkspace, which counts for its next hold. A template that is not
// there, or that cannot be used, counts as exclusive.
func (w Workspaces) safety(ctx context.Context, o *v1alpha1.JobWorkspace) (job.Safety, error) {
	program, err := templates.Find(ctx, w.Cache, o)
	if errors.Is(err, templates.ErrUnread) {
		return "", err
	}
	value, err := program.Runnable()
	if err != nil {
		return job.Exclusive, nil //nolint:nilerr // the controller reports it
	}
	return value.Safety, nil
}

// Swap implements serve.Workspaces, by one conditional write.
func (w Workspaces) Swap(ctx context.Context, uid, version string, next workspace.Workspace) error {
	var found v1alpha1.JobWorkspaceList
	if err := w.find(ctx, uid, &found); err != nil || len(found.Items) == 0 {
		return missing("JobWorkspace", uid, err)
	}
	key := client.ObjectKeyFromObject(&found.Items[0])
	var o v1alpha1.JobWorkspace
	convert.SetWorkspace(&o, next)
	o.Namespace, o.Name = key.Namespace, key.Name
	return write(ctx, w.Writer, &o, "JobWorkspace", uid, version, o.State)
}
