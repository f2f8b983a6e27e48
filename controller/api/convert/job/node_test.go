package job

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// What an agent is known by comes back as it was written, whatever it has.
func TestIdentityComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var i node.Identity
		fill(t, reflect.ValueOf(&i).Elem())
		if i.Token.Digest == "" {
			i.Token = node.Token{}
		}
		o := &v1alpha1.RunNode{}
		SetIdentity(o, i)
		assert.Equal(t, i, ToNode(o).Identity)
	})
}

func TestToNode(t *testing.T) {
	o := &v1alpha1.RunNode{}
	assert.Equal(t, node.Node{Capacity: 1}, ToNode(o), "one run at once, and none of any namespace")
	o.Spec.Order = "Paused"
	assert.Equal(t, node.Suspend, ToNode(o).Order, "an order of a later version never adds a right")
	o.Spec.Order = v1alpha1.OrderRevoked
	assert.Equal(t, node.Revoke, ToNode(o).Order)
	SetNode(o, ToNode(o).Standing(time.Unix(0, 0)), time.Unix(0, 0))
	assert.Equal(t, "Revoked", o.Status.Phase)
	assert.Len(t, o.Status.Conditions, 3)
}

func TestTarget(t *testing.T) {
	assert.Nil(t, forTarget(node.Selection{}), "the cluster")
	for _, target := range []node.Selection{{}, {Name: "n"}, {Labels: map[string]string{"site": "a"}}} {
		assert.Equal(t, target, ToTarget(forTarget(target)))
	}
}
