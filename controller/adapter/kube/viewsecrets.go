package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// followSecrets starts to tell of changes of secrets to those concerned. They are no
// part of the revisions of a view: numbers of revisions only grow, so that who hears
// of an older one again knows it.
func (v *Views) followSecrets(ctx context.Context, informers cache.Cache) error {
	informer, err := informers.GetInformer(ctx, &v1alpha1.RelatedSecret{})
	if err != nil {
		return fmt.Errorf("cannot follow secrets: %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { v.tellConcerned(o) },
		UpdateFunc: func(before, after any) { v.tellConcerned(before); v.tellConcerned(after) },
		DeleteFunc: func(o any) { v.tellConcerned(o) },
	})
	if err != nil {
		return fmt.Errorf("cannot follow secrets: %w", err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("cannot sync secrets: %w", context.Cause(ctx))
	}
	return nil
}

// tellConcerned tells those that a secret concerns, each where it lives: a reader in
// another namespace is noted as web.shop.
func (v *Views) tellConcerned(event any) {
	if gone, ok := event.(toolscache.DeletedFinalStateUnknown); ok {
		event = gone.Obj
	}
	s, ok := event.(*v1alpha1.RelatedSecret)
	if !ok {
		return
	}
	for _, application := range object.Concerned(s) {
		name, elsewhere, _ := strings.Cut(application, ".")
		v.Changed(cmp.Or(elsewhere, s.Namespace), name)
	}
}

// Secrets returns the secrets of a namespace that an application, as that names it,
// owns or reads, from memory, in order of ID.
func (v *Views) Secrets(ctx context.Context, namespace, application string) ([]secret.Secret, error) {
	var list v1alpha1.RelatedSecretList
	if err := v.Reader.List(ctx, &list, object.At(object.ByConcerned, namespace, application), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("cannot list the secrets of %s: %w", application, err)
	}
	var all []secret.Secret
	for i := range list.Items {
		all = append(all, convert.ToSecret(&list.Items[i]))
	}
	slices.SortFunc(all, func(a, b secret.Secret) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}
