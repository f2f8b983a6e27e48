package collection

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
)

// Collector deletes unused blobs.
type Collector struct {
	// Reader reads JobWorkspaces from the API server, never from a cache.
	Reader client.Reader
	Store  blob.Store
	Events events.EventRecorder
	Now    func() time.Time

	// failing are the Workspaces whose last collection failed, so that each failure is one Event.
	failing map[types.UID]bool
}

// Collect goes through the store once. What fails for one Workspace holds up no other.
func (c *Collector) Collect(ctx context.Context) error {
	begun := c.Now()
	if c.failing == nil {
		c.failing = map[types.UID]bool{}
	}
	stock, err := evidence.Inventory(ctx, c.Store)
	if err != nil {
		return fmt.Errorf("cannot list the store of states: %w", err)
	}
	var list v1alpha1.JobWorkspaceList
	if err := c.Reader.List(ctx, &list); err != nil {
		return fmt.Errorf("cannot list the JobWorkspaces: %w", err)
	}
	live := map[string]*v1alpha1.JobWorkspace{}
	for i := range list.Items {
		live[string(list.Items[i].UID)] = &list.Items[i]
	}
	var failed []error
	for _, uid := range stock.UIDs {
		if o := live[uid]; o != nil {
			failed = append(failed, c.sweep(ctx, o))
		}
	}
	failed = append(failed, c.collectLeft(ctx, stock, live), c.collectContents(ctx, stock.Contents))
	if err := errors.Join(failed...); err != nil {
		return err
	}
	measure(begun, c.Now(), len(stock.Left))
	return ctx.Err()
}

// sweep collects what a Workspace does not need, and writes an Event if that begins to fail.
func (c *Collector) sweep(ctx context.Context, o *v1alpha1.JobWorkspace) error {
	err := c.sweepOne(ctx, client.ObjectKeyFromObject(o), o.UID)
	if err != nil {
		err = fmt.Errorf("cannot delete what JobWorkspace %s/%s does not need: %w", o.Namespace, o.Name, err)
	}
	was := c.failing[o.UID]
	delete(c.failing, o.UID)
	if err != nil {
		c.failing[o.UID] = true
		if !was {
			object.WriteEvent(c.Events, o, corev1.EventTypeWarning, "Collect", "CannotCollect", err.Error())
		}
	}
	failures.Set(float64(len(c.failing)))
	return err
}

// remove deletes blobs, and counts them.
func (c *Collector) remove(ctx context.Context, all []blob.Info) error {
	for _, one := range all {
		if err := c.Store.Delete(ctx, one.Key); err != nil {
			return err
		}
		deleted.Inc()
		bytes.Add(float64(one.Size))
	}
	return nil
}
