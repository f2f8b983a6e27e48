package counts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/golang/glog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Counter raises counts of relations.
type Counter struct {
	// Cached reads from the informers, and Live from the API server itself.
	Cached, Live client.Reader
	Writer       client.Writer
}

// writeWithin is how long raising a count may take: an agent waits for it.
const writeWithin = 8 * time.Second

// again is how often, and for how long, raising a count that fell is tried.
//
//nolint:gochecknoglobals // about eight minutes
var again = wait.Backoff{Duration: time.Second, Factor: 2, Steps: 9, Jitter: 0.1}

// Follow raises each count that falls, or goes, to what this replica has seen of it. It returns when the informer has
// synced.
func (c Counter) Follow(ctx context.Context, informers cache.Cache) error {
	informer, err := informers.GetInformer(ctx, &v1alpha1.RelatedNamespace{})
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			UpdateFunc: func(before, after any) { c.keep(ctx, before, after) },
			DeleteFunc: func(before any) { c.keep(ctx, before, nil) },
		})
	}
	if err != nil {
		return fmt.Errorf("cannot follow the counts of relations: %w", err)
	}
	return nil
}

// keep raises a count that is lower than before.
func (c Counter) keep(ctx context.Context, before, after any) {
	if gone, is := before.(toolscache.DeletedFinalStateUnknown); is {
		before = gone.Obj
	}
	was, is := before.(*v1alpha1.RelatedNamespace)
	if !is {
		return
	}
	if now, is := after.(*v1alpha1.RelatedNamespace); is && now.State.LastRelation >= was.State.LastRelation {
		return
	}
	_ = wait.ExponentialBackoffWithContext(ctx, again, func(ctx context.Context) (bool, error) {
		err := c.raise(ctx, was.Namespace, int(was.State.LastRelation))
		if err != nil {
			glog.Warningf("a count of relations has fallen: %v", err)
		}
		return err == nil, nil
	})
}

// Raise counts an id that the agent of a pod has received, unless the informers show that it is counted. The pod pays
// before anything is read from the API server. An id that is too high is logged and ignored.
func (c Counter) Raise(ctx context.Context, of identity.Identity, received int, pay func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	shown, err := recordIn(ctx, c.Cached, of.Namespace)
	if err != nil || received <= int(shown.State.LastRelation) {
		return err
	}
	if err := pay(ctx); err != nil {
		return err
	}
	err = c.raise(ctx, of.Namespace, received)
	if errors.Is(err, relation.ErrFarAhead) {
		glog.Warningf("what the agent of pod %s/%s has received is ignored: %v", of.Namespace, of.Pod, err)
		return nil
	}
	return err
}

// raise stores an id as the highest that was given, unless a higher one is stored. In a namespace that ends no relation
// gets an id.
func (c Counter) raise(ctx context.Context, namespace string, received int) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		record, err := recordIn(ctx, c.Live, namespace)
		if err != nil {
			return err
		}
		stored := relation.Count{LastRelation: int(record.State.LastRelation)}
		raised, err := stored.Raise(received)
		if err != nil || raised == stored {
			return err
		}
		record.State.LastRelation = int64(raised.LastRelation)
		if record.ResourceVersion == "" {
			return c.Writer.Create(ctx, record)
		}
		return c.Writer.Update(ctx, record)
	})
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot count relation %d in namespace %s: %w", received, namespace, err)
	}
	return nil
}

// recordIn returns the record of a namespace, an empty one for none.
func recordIn(ctx context.Context, reader client.Reader, namespace string) (*v1alpha1.RelatedNamespace, error) {
	record := object.Named(&v1alpha1.RelatedNamespace{}, namespace, v1alpha1.NamespaceRecord)
	if err := reader.Get(ctx, client.ObjectKeyFromObject(record), record); client.IgnoreNotFound(err) != nil {
		return record, fmt.Errorf("cannot read the record of namespace %s: %w", namespace, err)
	}
	return record, nil
}
