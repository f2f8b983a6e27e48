package integration

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// replace deletes the namespace and makes another one of its name.
func (w *controllerWorld) replace() {
	w.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	require.NoError(w.t, w.admin.Delete(w.ctx, ns))
	controlplane.Eventually(w.t, func() bool {
		return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(ns), ns))
	}, 2*soon, "the namespace is gone")
	labels := map[string]string{application.LabelOptIn: application.OptedIn}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace, Labels: labels}})
}

// waits returns the reason and the message of the only wait of an application.
func (w *controllerWorld) waits(name string) (why, message string) {
	waits := w.app(name).Status.Waits
	if len(waits) != 1 {
		return "", ""
	}
	return waits[0].Reason, waits[0].Message
}

// A namespace that is made again under an offered name gets neither the relation nor its data nor what is granted
// (TRUST.md T8).
func TestControllerSuspendsANamespaceMadeAgain(t *testing.T) {
	bank := newControllerWorld(t)
	shop := bank.another()
	c := bank.controller(-1)
	s, offer := bank.adminSecret(), bank.offer(shop.namespace)
	s.Annotations = map[string]string{secret.KeyGrantTo: "main"}
	offer.Spec.Application, offer.Spec.Secrets = "db", []string{"db-admin"}
	bank.opens()
	bank.create(s, bank.grants(), offer)
	web := func() { shop.create(shop.consumer("web", consumes("store:pg", "db."+bank.namespace))) }
	web()
	shop.becomes("db", "Complete")

	shop.replace()
	web()
	unit := shop.speaker(c, "web", "10.9.4.1")
	shop.eventually("the new namespace waits", func() bool { why, _ := shop.waits("web"); return why != "" })
	why, message := shop.waits("web")
	assert.Equal(t, "NamespaceReplaced", why, message)
	hears(t, unit.stream, "why there is no relation", func(s *wire.Snapshot) bool {
		return s.GetUnit().GetKnown() && len(s.GetRelations()) == 0 && len(s.GetWaiting()) == 1
	})
	reads := func() connect.Code {
		_, err := unit.api.GetSecret(shop.ctx, asking(unit, &wire.GetSecretRequest{Id: secret.GrantedID(bank.namespace, "db", "main")}))
		return connect.CodeOf(err)
	}
	assert.Equal(t, connect.CodeNotFound, reads())
	bank.eventually("the provider is told", func() bool { return reason(bank.app("db").Status.Conditions, "Suspended") == why })
	bank.eventually("and so is whoever made the Offer", func() bool {
		require.NoError(t, bank.admin.Get(bank.ctx, client.ObjectKeyFromObject(offer), offer))
		return reason(offer.Status.Conditions, "Suspended") == why && reason(offer.Status.Conditions, "Ready") == "Offered"
	})

	t.Log("a person who may edit Offers renews it")
	bank.allow("banker", "orcon-edit")
	banker := bank.orcon("banker")
	out, code := banker.run("offer", "renew", "--yes")
	require.Zero(t, code)
	assert.Contains(t, out, "Offer "+bank.namespace+"/to-the-shop is renewed")
	shop.becomes("db", "Complete")
	hears(t, unit.stream, "the reference", granted)
	bank.eventually("nothing is suspended", func() bool { return reason(bank.app("db").Status.Conditions, "Suspended") == "" })
	out, code = banker.run("offer", "renew")
	require.Zero(t, code)
	assert.Equal(t, "no Offer waits to be renewed\n", out)
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// A provider's namespace that is made again gets nothing of the relations with the earlier one, whatever it offers
// (TRUST.md T8).
func TestControllerSuspendsAProviderMadeAgain(t *testing.T) {
	shop := newControllerWorld(t)
	bank := shop.another()
	c := shop.controller(-1)
	offers := func() {
		bank.create(bank.consumer("vault", map[string]string{application.KeyProvides: "main:pg"}), bank.offer(shop.namespace))
	}
	offers()
	shop.create(shop.consumer("web", consumes("store:pg", "vault."+bank.namespace)))
	web := shop.speaker(c, "web", "10.9.5.1")
	opened := hears(t, web.stream, "that it is open", func(s *wire.Snapshot) bool { return one(s) != nil && !suspended(s) })
	id := one(opened).GetUid()
	require.NoError(t, web.commit(shop.ctx, shop.leads(web), change(id, true, "token", "for-the-old-bank")))

	bank.replace()
	offers()
	vault := bank.speaker(c, "vault", "10.9.5.2")
	shop.becomes("vault", "!NamespaceReplaced")
	hears(t, vault.stream, "that it is a unit", func(s *wire.Snapshot) bool { return s.GetUnit().GetKnown() && len(s.GetRelations()) == 0 })
	assert.Empty(t, bank.bagsOf(id))

	t.Log("who ends the relation gets one with the new namespace")
	r := shop.relations()["vault"]
	require.NoError(t, shop.admin.Delete(shop.ctx, &r))
	made := hears(t, vault.stream, "another relation", func(s *wire.Snapshot) bool { return one(s) != nil && !suspended(s) })
	assert.NotEqual(t, id, one(made).GetUid())
	assert.Empty(t, one(made).GetBag().GetData()["token"])
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}
