package object

import (
	corev1 "k8s.io/api/core/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// SchemaMode returns the schema mode of a namespace.
func SchemaMode(ns *corev1.Namespace) schema.Mode {
	return schema.ParseMode(ns.Labels[application.LabelSchema])
}
