package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// ports are those of the jobs API that have tokens and renewals in memory.
type ports struct {
	client client.Client

	mutex  sync.Mutex
	tokens map[string]serve.Caller
	signs  map[string]controller.Sign
}

// indexed is a client that finds objects by their UID, as the cache of the controller does.
type indexed struct{ client.Client }

// List implements client.Reader.
func (i indexed) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	if o.FieldSelector == nil {
		return i.Client.List(ctx, list, options...)
	}
	uid, _ := o.FieldSelector.RequiresExactMatch("metadata.uid")
	if err := i.Client.List(ctx, list); err != nil {
		return err
	}
	all, err := meta.ExtractList(list)
	all = slices.DeleteFunc(all, func(one runtime.Object) bool { return string(one.(client.Object).GetUID()) != uid }) //nolint:forcetypeassert // an object
	return errors.Join(err, meta.SetList(list, all))
}

// Renewed implements serve.Renewals.
func (p *ports) Renewed(_ context.Context, r serve.Renewal) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.signs[r.Run] = controller.Sign{Fence: r.Fence, Number: r.Number, Delay: r.Delay}
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
