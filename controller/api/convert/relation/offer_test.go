package relation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// The consumers of an Offer have the UIDs that are recorded, and those of namespaces that it names no more are dropped.
func TestConsumersOfAnOffer(t *testing.T) {
	o := &v1alpha1.Offer{Spec: v1alpha1.OfferSpec{
		Consumers: []string{"shop", "lab"}, ConsumerNamespaces: []v1alpha1.NamespaceIdentity{{Name: "office", UID: "1"}, {Name: "lab", UID: "2"}},
	}}
	d := ToOffer(o)
	assert.Equal(t, []relation.Namespace{{Name: "shop"}, {Name: "lab", UID: "2"}}, d.Consumers)
	d.Consumers[0].UID = "3"
	KeepOffer(o, d)
	assert.Equal(t, []v1alpha1.NamespaceIdentity{{Name: "shop", UID: "3"}, {Name: "lab", UID: "2"}}, o.Spec.ConsumerNamespaces)
	assert.Equal(t, d, ToOffer(o))

	s := relation.OfferState{Replaced: []relation.Namespace{{Name: "lab", UID: "4"}}}
	SetOffer(o, s, time.Now())
	assert.Equal(t, s, ToOffer(o).State)
}
