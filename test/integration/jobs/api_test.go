package jobs

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// ports are those of the jobs API: Workspaces and Runs of the API server, tokens and renewals in memory.
type ports struct {
	client client.Client

	mutex  sync.Mutex
	tokens map[string]serve.Caller
	signs  map[string]controller.Sign
}

// workspaceOf returns the Workspace of a UID.
func (p *ports) workspaceOf(ctx context.Context, uid string) (*v1alpha1.JobWorkspace, error) {
	var list v1alpha1.JobWorkspaceList
	if err := p.client.List(ctx, &list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if string(list.Items[i].UID) == uid {
			return &list.Items[i], nil
		}
	}
	return nil, fmt.Errorf("there is no workspace %s: %w", uid, workspace.ErrStale)
}

type workspaces struct{ *ports }

// Get implements serve.Workspaces.
func (w workspaces) Get(ctx context.Context, uid string) (serve.Stored, error) {
	o, err := w.workspaceOf(ctx, uid)
	if err != nil {
		return serve.Stored{}, err
	}
	now, err := convert.ToWorkspace(o, job.Exclusive)
	return serve.Stored{Version: o.ResourceVersion, Workspace: now}, err
}

// Recent implements serve.Workspaces.
func (w workspaces) Recent(ctx context.Context, uid string) (serve.Stored, error) {
	return w.Get(ctx, uid)
}

// Swap implements serve.Workspaces.
func (w workspaces) Swap(ctx context.Context, uid, version string, next workspace.Workspace) error {
	o, err := w.workspaceOf(ctx, uid)
	if err != nil {
		return err
	}
	o.ResourceVersion = version
	convert.SetWorkspace(o, next)
	if err := w.client.Update(ctx, o); apierrors.IsConflict(err) {
		return fmt.Errorf("%w: %w", serve.ErrMoved, err)
	} else if err != nil {
		return err
	}
	return nil
}

type runs struct{ *ports }

// Get implements serve.Runs.
func (r runs) Get(ctx context.Context, uid string) (serve.Run, error) {
	var list v1alpha1.JobRunList
	if err := r.client.List(ctx, &list); err != nil {
		return serve.Run{}, err
	}
	for _, o := range list.Items {
		if string(o.UID) == uid {
			return serve.Run{Parameters: string(o.State.Input.Parameters.Raw), Cancel: convert.Stopped(&o), Namespace: o.Namespace, Content: o.State.Input.Content}, nil
		}
	}
	return serve.Run{}, fmt.Errorf("there is no run %s: %w", uid, workspace.ErrStale)
}

// Report implements serve.Runs.
func (runs) Report(context.Context, string, serve.Report) error { return nil }

// Renewed implements serve.Renewals.
func (p *ports) Renewed(_ context.Context, r serve.Renewal) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.signs[r.Run] = controller.Sign{Fence: r.Fence, Number: r.Number}
	return nil
}

// Last implements the controller's Signs.
func (p *ports) Last(_ context.Context, run string) (controller.Sign, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.signs[run], nil
}

// identify makes the token of a keeper.
func (p *ports) identify(n executor.Name, id, where string) (string, error) {
	o := &v1alpha1.JobRun{}
	if err := p.client.Get(context.Background(), client.ObjectKey{Namespace: n.Namespace, Name: n.Run}, o); err != nil {
		return "", err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.tokens[id] = serve.Caller{
		Workspace: string(o.OwnerReferences[0].UID), Run: convert.ToRun(o), Claimant: workspace.Claimant{ID: id, Where: where},
	}
	return id, nil
}

// Identify implements serve.Callers.
func (p *ports) Identify(r *http.Request) (serve.Caller, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	c, known := p.tokens[token]
	if !known {
		return c, fmt.Errorf("unknown token: %w", serve.ErrForbidden)
	}
	return c, nil
}
