package views

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Secrets returns the secrets of a namespace that an application owns or reads, in order of ID. The
// application is named as that namespace names it.
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
