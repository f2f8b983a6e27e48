package object_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

func TestSchemaMode(t *testing.T) {
	assert.Equal(t, schema.Enforce, object.SchemaMode(kubetest.Judging("shop", schema.Enforce)))
	assert.Equal(t, schema.Warn, object.SchemaMode(&corev1.Namespace{}), "unset")
}
