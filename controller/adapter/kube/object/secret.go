package object

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// SecretsOf returns the secrets of a namespace.
func SecretsOf(ctx context.Context, reader client.Reader, namespace string) ([]secret.Secret, error) {
	var list v1alpha1.RelatedSecretList
	if err := reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the secrets of namespace %s: %w", namespace, err)
	}
	all := make([]secret.Secret, len(list.Items))
	for i := range list.Items {
		all[i] = convert.ToSecret(&list.Items[i])
	}
	return all, nil
}

// SecretOwners returns the owners of the secrets of a namespace.
func SecretOwners(ctx context.Context, reader client.Reader, namespace string) ([]secret.Owner, error) {
	var list v1alpha1.RelatedSecretList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("cannot list the owners of secrets of namespace %s: %w", namespace, err)
	}
	all := make([]secret.Owner, len(list.Items))
	for i := range list.Items {
		all[i] = secret.Owner{Application: list.Items[i].Spec.Application, Unit: list.Items[i].Spec.Unit}
	}
	return all, nil
}

// SecretSource reads a user's Secret by its name from the API server. It returns what a grant of it
// depends on, and what it holds.
func SecretSource(ctx context.Context, live client.Reader, namespace, name string) (secret.Source, map[string][]byte, error) {
	source := secret.Source{Namespace: namespace, Name: name, Sight: secret.Open}
	var s corev1.Secret
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
	switch {
	case apierrors.IsForbidden(err):
		source.Sight = secret.Closed
	case apierrors.IsNotFound(err):
		source.Sight = secret.Missing
	case err != nil:
		return source, nil, fmt.Errorf("cannot read Secret %s in namespace %s: %w", name, namespace, err)
	default:
		source.Type, source.GrantTo, source.Version = string(s.Type), s.Annotations[secret.KeyGrantTo], s.ResourceVersion
	}
	return source, s.Data, nil
}
