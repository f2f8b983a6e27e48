package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A misspelt name in a BundleDeployment has its cure, and other errors are as the cluster says.
func TestUnreadable(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "contnt"}
	absent := unreadable("ConfigMap", key, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name))
	assert.EqualError(t, absent, `cannot read ConfigMap contnt: configmaps "contnt" not found: create it in namespace shop, or correct its name in the BundleDeployment`)
	assert.True(t, apierrors.IsNotFound(absent), "callers tell it apart")
	forbidden := unreadable("Secret", key, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, nil))
	assert.NotContains(t, forbidden.Error(), "create it")
}
