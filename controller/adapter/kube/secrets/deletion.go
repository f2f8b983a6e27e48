package secrets

import (
	"context"
	"fmt"

	"github.com/golang/glog"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// Follow marks the content of each RelatedSecret whose deletion is seen, so that a sweep removes it unless the object
// comes back. One that is merely missing when a watch begins anew, as after a restore, is unknown (TRUST.md T5).
func (v *Vault) Follow(ctx context.Context, informers cache.Cache) error {
	informer, err := informers.GetInformer(ctx, &v1alpha1.RelatedSecret{})
	if err != nil {
		return fmt.Errorf("cannot watch secrets: %w", err)
	}
	if _, err = informer.AddEventHandler(v.deletions(ctx)); err != nil {
		return fmt.Errorf("cannot follow secrets: %w", err)
	}
	return nil
}

func (v *Vault) deletions(ctx context.Context) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(event any) {
		if s, seen := event.(*v1alpha1.RelatedSecret); seen {
			v.deleted(ctx, s)
		}
	}}
}

// deleted marks the content of a deleted secret.
func (v *Vault) deleted(ctx context.Context, s *v1alpha1.RelatedSecret) {
	ended, err := v.ended(ctx, s)
	if err == nil && ended {
		err = v.Mark(ctx, s.Namespace, convert.ToSecret(s).Places())
	}
	if err != nil {
		glog.Warningf("namespace %s: the content of deleted secret %s stays: %v", s.Namespace, s.Name, err)
	}
}

// ended reports whether the deletion of a secret's object was its end.
func (v *Vault) ended(ctx context.Context, s *v1alpha1.RelatedSecret) (bool, error) {
	definition, err := object.Definition(ctx, v.Reader, "relatedsecrets")
	if err != nil {
		return false, err
	}
	return object.DeletionEnds(s, definition), nil
}
