package integration

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

const (
	adminPassword = "correct-horse-battery"
	adminRotated  = "staple-of-the-horse"
)

// opens lets the controller read Secrets of the namespace, as its administrator does.
func (w *controllerWorld) opens() *rbacv1.RoleBinding {
	b := &rbacv1.RoleBinding{
		ObjectMeta: w.meta("orcon-granted-secrets"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "orcon-granted-secrets"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "relations-controller", Namespace: "default"}},
	}
	w.create(b)
	return b
}

// admin is a Secret of somebody's, which consents to nothing.
func (w *controllerWorld) adminSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: w.meta("db-admin"), StringData: map[string]string{"username": "admin", "password": adminPassword}}
}

// grants is a Service without pods that grants the Secret.
func (w *controllerWorld) grants() *corev1.Service {
	s := w.provider("db", "db.example.org")
	s.Labels = nil
	s.Annotations = map[string]string{application.KeyProvides: "main:pg", application.PrefixSecret + "main": "db-admin"}
	return s
}

// refusal is the reason and the message of db's condition GrantRefused; empty without it.
func (w *controllerWorld) refusal() (why, message string) {
	c := meta.FindStatusCondition(w.app("db").Status.Conditions, "GrantRefused")
	if c == nil {
		return "", ""
	}
	return c.Reason, c.Message
}

func (w *controllerWorld) refused(reason, command string) {
	w.t.Helper()
	w.eventually("refused with "+reason, func() bool { is, _ := w.refusal(); return is == reason })
	_, message := w.refusal()
	assert.Contains(w.t, message, command)
}

func granted(s *wire.Snapshot) bool { return one(s).GetGranted().GetId() != "" }

func notGranted(s *wire.Snapshot) bool {
	return one(s) != nil && !granted(s) && one(s).GetBag().GetData()["secret"] == ""
}

// A Secret of somebody's is granted when the namespace is open, the Secret is there and
// it consents, each with the command that is missing; it is read where it lies, a
// change is told, and whatever consent is taken back ends the grant and no relation
// (SAFETY.md S1 and S2).
func TestControllerGrantsSecretsThatConsent(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	id := secret.GrantedID(w.namespace, "db", "main")
	w.create(w.grants(), w.consumer("web", consumes("store:pg", "db")), w.consumer("thief", map[string]string{application.KeyProvides: "loot"}))
	web := w.speaker(c, "web", "10.9.0.1")
	reads := func(s *speaker, id string) (map[string][]byte, error) {
		answered, err := s.api.GetSecret(w.ctx, asking(s, &wire.GetSecretRequest{Id: id}))
		if err != nil {
			assert.NotContains(t, err.Error(), "db-admin", "who consumes learns nothing of the Secret")
			return nil, err
		}
		return answered.Msg.GetContent(), nil
	}
	code := func(s *speaker) connect.Code { _, err := reads(s, id); return connect.CodeOf(err) }

	t.Log("each consent that is missing, with its command")
	w.refused(secret.ReasonNoPermission, "kubectl create rolebinding orcon-granted-secrets --clusterrole=orcon-granted-secrets --serviceaccount=default:relations-controller -n "+w.namespace)
	uid := hears(t, web.stream, "its relation", func(s *wire.Snapshot) bool { return notGranted(s) && s.GetUnit().GetKnown() }).GetRelations()[0].GetUid()
	assert.Equal(t, connect.CodeFailedPrecondition, code(web), "not yet")
	opened := w.opens()
	w.refused(secret.ReasonNoSecret, "Secret db-admin does not exist")
	s := w.adminSecret()
	w.create(s)
	w.refused(secret.ReasonNoConsent, "kubectl annotate secret db-admin -n "+w.namespace+" --overwrite tengu.io/grant-to=main")
	assert.Equal(t, connect.CodeFailedPrecondition, code(web), "SAFETY.md M7: the same, whatever is missing")
	w.eventually("an Event tells, once", func() bool { return len(w.events("Service", secret.ReasonNoConsent)) == 1 })

	t.Log("granted, and read where it lies")
	consents := func(text string) {
		w.change(s, func() { s.Annotations = map[string]string{secret.KeyGrantTo: text} })
	}
	consents("db:main")
	heard := hears(t, web.stream, "the reference", granted)
	assert.Equal(t, "secret:"+id, one(heard).GetBag().GetData()["secret"])
	content, err := reads(web, id)
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"username": []byte("admin"), "password": []byte(adminPassword)}, content)
	w.eventually("no refusal is left: the status follows the data", func() bool { _, message := w.refusal(); return message == "" })
	_, err = web.api.GetSecret(w.ctx, asking(web, &wire.GetSecretRequest{Id: id, Label: "mine"}))
	assert.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "a label has nowhere to be")
	thief := w.speaker(c, "thief", "10.9.0.9")
	hears(t, thief.stream, "that it is a unit", func(s *wire.Snapshot) bool { return s.GetUnit().GetKnown() })
	assert.Equal(t, connect.CodeNotFound, code(thief), "who is not related finds no such secret")

	t.Log("another content is another revision")
	before := one(heard).GetGranted().GetRevision()
	w.change(s, func() { s.StringData = map[string]string{"password": adminRotated} })
	hears(t, web.stream, "that it has changed", func(s *wire.Snapshot) bool { return one(s).GetGranted().GetRevision() > before })
	content, err = reads(web, id)
	require.NoError(t, err)
	assert.Equal(t, adminRotated, string(content["password"]))
	w.assertOnlyInSecrets(adminPassword, adminRotated)

	t.Log("what is taken back is refused at once, and the reference goes")
	for why, taken := range map[string]struct{ back, again func() }{
		"consent":    {func() { consents("other") }, func() { consents("main") }},
		"permission": {func() { require.NoError(t, w.admin.Delete(w.ctx, opened)) }, func() { opened = w.opens() }},
		"the Secret": {func() { require.NoError(t, w.admin.Delete(w.ctx, s)) }, func() {
			s = w.adminSecret()
			s.Annotations = map[string]string{secret.KeyGrantTo: "main"}
			w.create(s)
		}},
	} {
		taken.back()
		w.eventually(why+" is missing", func() bool { return code(web) == connect.CodeFailedPrecondition }) // caches of the API server's own
		gone := hears(t, web.stream, "that the reference goes with "+why, notGranted)
		assert.Equal(t, uid, one(gone).GetUid(), "no relation ends")
		taken.again()
		hears(t, web.stream, "that it comes back with "+why, granted)
	}

	t.Log("a token is never granted")
	require.NoError(t, w.admin.Delete(w.ctx, s))
	token := w.adminSecret()
	token.Type, token.Annotations = "bootstrap.kubernetes.io/token", map[string]string{secret.KeyGrantTo: "main"}
	w.create(token)
	w.refused(secret.ReasonNever, "never granted")
	assert.Equal(t, connect.CodeFailedPrecondition, code(web))
}

// Across namespaces the Offer lists the Secret too (SAFETY.md S1, M7).
func TestControllerGrantsAbroadWhatTheOfferLists(t *testing.T) {
	bank := newControllerWorld(t)
	shop := bank.another()
	c := bank.controller(-1)
	s, offer := bank.adminSecret(), bank.offer(shop.namespace)
	s.Annotations = map[string]string{secret.KeyGrantTo: "main"}
	offer.Spec.Application = "db"
	bank.opens()
	bank.create(s, bank.grants(), offer)
	shop.create(shop.consumer("web", consumes("store:pg", "db."+bank.namespace)))
	web := shop.speaker(c, "web", "10.9.2.1")
	id := secret.GrantedID(bank.namespace, "db", "main")
	get := func() error {
		_, err := web.api.GetSecret(shop.ctx, asking(web, &wire.GetSecretRequest{Id: id}))
		return err
	}
	hears(t, web.stream, "the relation without the Secret", func(s *wire.Snapshot) bool {
		return notGranted(s) && one(s).GetBag().GetData()["host"] != "" && s.GetUnit().GetKnown()
	})
	assert.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(get()))
	bank.refused("NoOffer", `kubectl patch offer to-the-shop -n `+bank.namespace+` --type merge -p '{"spec":{"secrets":["db-admin"]}}'`)
	bank.change(offer, func() { offer.Spec.Secrets = []string{"db-admin"} })
	hears(t, web.stream, "the reference", granted)
	require.NoError(t, get())
	bank.eventually("nothing is missing", func() bool { why, _ := bank.refusal(); return why == "" })
	bank.change(offer, func() { offer.Spec.Secrets = nil })
	assert.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(get()), "at once")
	hears(t, web.stream, "that it goes", notGranted)
}
