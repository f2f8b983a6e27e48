package views

import (
	"testing"

	"github.com/stretchr/testify/assert"
	toolscache "k8s.io/client-go/tools/cache"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
)

// TRUST.md U1: what an application and its namespace hold is known from the events of the informers, also of objects
// whose deletion was missed.
func TestHoldings(t *testing.T) {
	h := &holdings{}
	handler := h.handler()
	bag := kubetest.DeclaredBag("shop", "db", map[string]string{"host": "h"})
	larger := kubetest.DeclaredBag("shop", "db", map[string]string{"host": "h", "port": "5432"})
	outbox := object.Named(&v1alpha1.Databag{}, "shop", "outbox")
	outbox.Spec = v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeOutbox, Application: "web", Unit: "0"}
	secret := object.Named(&v1alpha1.RelatedSecret{}, "shop", "s")
	secret.Spec.Application = "db"
	handler.OnAdd(bag, true)
	handler.OnAdd(outbox, true)
	handler.OnAdd(secret, true)
	handler.OnUpdate(bag, larger)
	db, shop := h.Holdings("shop", "db")
	assert.Equal(t, budget.Holding{Bags: 1, Secrets: 1, Bytes: 13}, db)
	assert.Equal(t, budget.Holding{Bags: 1, Outboxes: 1, Secrets: 1, Bytes: 13}, shop)
	other, _ := h.Holdings("office", "db")
	assert.Zero(t, other)
	handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "shop/db", Obj: larger})
	handler.OnDelete(outbox)
	handler.OnDelete(secret)
	_, shop = h.Holdings("shop", "db")
	assert.Zero(t, shop)
	assert.Empty(t, h.of, "nothing is kept of what has gone")
}
