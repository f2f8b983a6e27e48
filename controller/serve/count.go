package serve

import (
	"context"
	"errors"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Counter counts the ids of the relations of namespaces.
type Counter interface {
	// LastRelation returns the highest id that a relation of a namespace was given, from memory; 0 for none.
	LastRelation(ctx context.Context, namespace string) (int, error)
	// Raise stores an id as the highest that was given, unless a higher one is stored. The error wraps
	// relation.ErrFarAhead if it cannot have been given.
	Raise(ctx context.Context, namespace string, received int) error
}

// raise has the relations of a pod's namespace get higher ids than the highest that its agent has received, before the
// agent is served. What that writes is paid for by the pod. A number that is too high is logged and ignored.
func raise(ctx context.Context, counter Counter, pay func(context.Context) error, of identity.Identity, received int) error {
	if counter == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	counted, err := counter.LastRelation(ctx, of.Namespace)
	if err == nil && received > counted {
		if err = pay(ctx); err == nil {
			err = counter.Raise(ctx, of.Namespace, received)
		}
	}
	switch {
	case errors.Is(err, relation.ErrFarAhead):
		glog.Warningf("the agent of pod %s/%s has received an id that is ignored: %v", of.Namespace, of.Pod, err)
		return nil
	case err != nil:
		return refuse(err)
	}
	return nil
}
