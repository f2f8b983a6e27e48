package object

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// SchemaMode returns the schema mode of a namespace.
func SchemaMode(ns *corev1.Namespace) schema.Mode {
	return schema.ParseMode(ns.Labels[application.LabelSchema])
}

// NamespaceUID returns the UID of a namespace; empty if there is none.
func NamespaceUID(ctx context.Context, reader client.Reader, name string) (string, error) {
	var ns corev1.Namespace
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, &ns, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("cannot read namespace %s: %w", name, err)
	}
	return string(ns.UID), nil
}
