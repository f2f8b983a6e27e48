package integration

import (
	"context"
	"strconv"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/commits"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// The outbox of a unit goes when the unit has gone, and that of a unit that lives stays (TRUST.md T10).
func TestOutboxGoesWithItsUnit(t *testing.T) {
	t.Parallel()
	w := newControllerWorld(t)
	c := w.controller(-1)
	web := w.consumer("web", consumes("store:pg", "db"))
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), web)
	provider, requirer := w.speaker(c, "db", "10.9.0.2"), w.speaker(c, "web", "10.9.0.1")
	for _, s := range []*speaker{provider, requirer} {
		uid := hears(t, s.stream, "its relation", func(s *wire.Snapshot) bool {
			return len(s.GetOwn()) == 1 && s.GetUnit().GetKnown()
		}).GetOwn()[0].GetRelation()
		require.NoError(t, s.commit(w.ctx, w.leads(s), change(uid, true, "zone", "a"), change(uid, false, "zone", "a")))
	}
	exists := func(app string) bool { return w.bagOf(relation.OutboxName(app, "0")).UID != "" }
	require.True(t, exists("web") && exists("db"), "both have committed by their outboxes")

	w.change(web, func() { web.Spec.Replicas = ptr.To[int32](0) })
	require.NoError(t, client.IgnoreNotFound(w.admin.Delete(w.ctx, requirer.pod, client.GracePeriodSeconds(0))))
	w.eventually("the outbox goes with its unit", func() bool { return !exists("web") })
	require.True(t, exists("db"), "its unit lives")
}

// refuses has a policy of a person refuse what web writes about a color, and returns what lifts it.
func (w *controllerWorld) refuses() (lift func()) {
	w.t.Helper()
	everywhere, color := metav1.ObjectMeta{Name: "colors-" + w.namespace}, relation.Databag{Application: "web", Endpoint: "try", Relation: "none"}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: everywhere, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"databags"}},
			}}},
		},
		Validations: []admissionv1.Validation{{Expression: "!('color' in object.?state.data.orValue({}))", Message: "no colors here"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: everywhere, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}
	ctx := context.WithoutCancel(w.ctx)
	tries := func() error {
		b := &v1alpha1.Databag{ObjectMeta: w.meta(color.Name()), Spec: convert.ForBag(color)}
		b.State.Data = map[string]string{"color": "red"}
		return w.admin.Create(ctx, b, client.DryRunAll)
	}
	require.NoError(w.t, tries())
	require.NoError(w.t, w.admin.Create(w.ctx, policy))
	require.NoError(w.t, w.admin.Create(w.ctx, binding))
	lift = func() {
		require.NoError(w.t, client.IgnoreNotFound(w.admin.Delete(ctx, binding)))
		require.NoError(w.t, client.IgnoreNotFound(w.admin.Delete(ctx, policy)))
	}
	w.t.Cleanup(lift)
	w.eventually("the policy is in force", func() bool { return tries() != nil })
	return lift
}

// What the API server refuses is refused to the author before the commit point, with the policy's own words; nothing of
// the transaction is stored, and the next one is (TRUST.md T10).
func TestRefusedTransactionIsNotCommitted(t *testing.T) {
	t.Parallel()
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), w.consumer("web", consumes("store:pg", "db")))
	db, web := w.speaker(c, "db", "10.9.0.2"), w.speaker(c, "web", "10.9.0.1")
	uid := hears(t, web.stream, "its relation", func(s *wire.Snapshot) bool { return len(s.GetOwn()) == 1 && s.GetUnit().GetKnown() }).GetOwn()[0].GetRelation()
	w.refuses()
	term := w.leads(web)
	err := web.commit(w.ctx, term, change(uid, true, "zone", "a"), change(uid, false, "color", "red"))
	assert.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
	require.ErrorContains(t, err, "the API server refuses the databag of web/0:store: ")
	assert.ErrorContains(t, err, "no colors here")
	assert.Empty(t, w.bagOf(relation.Databag{Application: "web", Endpoint: "store", Relation: uid}.Name()).State.Data, "nor the bag that is allowed")
	assert.False(t, convert.Holds(w.bagOf(relation.OutboxName("web", "0"))))

	require.NoError(t, web.commit(w.ctx, term, change(uid, true, "zone", "b"), change(uid, false, "zone", "b")))
	hears(t, db.stream, "the next transaction", func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) == 1 && s.GetRelations()[0].GetBag().GetData()["zone"] == "b"
	})
}

// A handler that acted on an older value than the one that is stored does not replace it: an earlier attempt, which got no
// answer, was stored meanwhile (TRUST.md T10).
func TestCommitByOlderValuesIsRefused(t *testing.T) {
	w := newControllerWorld(t)
	units, uid := w.writers(w.controller(-1), "web", 1)
	web := units[0]
	term := w.leads(web)
	require.NoError(t, web.commit(w.ctx, term, change(uid, true, "password", "first")))
	acted := func(on, value string) error {
		second := change(uid, true, "password", value)
		second.Seen = map[string]string{"password": databag.ValueVersion(on)}
		return web.commit(w.ctx, term, second, change(uid, false, "zone", value))
	}
	err := acted("", "second")
	assert.Equal(t, connect.CodeAborted, connect.CodeOf(err))
	require.ErrorContains(t, err, "cannot write password in the databag of web:store: it was changed after it was read")
	bag := relation.Databag{Application: "web", Endpoint: "store", Relation: uid}
	assert.Equal(t, map[string]string{"password": "first"}, w.bagOf(bag.Name()).State.Data)
	require.NoError(t, acted("first", "second"))
	assert.Equal(t, map[string]string{"password": "second"}, w.bagOf(bag.Name()).State.Data)
}

// What the API server refuses after the commit point is a condition and an Event of the application and the error of the
// author's next commit. It keeps no other unit from its own, and is part of every view until it can be delivered
// (TRUST.md T10).
func TestRefusedDeliveryIsReported(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	units, uid := w.writers(c, "web", 2)
	db := w.speaker(c, "web-db", "10.9.0.2")
	author, other := units[0], units[1]
	app := w.app("web")
	unit, known := object.UnitOfPod(&app, string(author.pod.UID))
	require.True(t, known)
	term := w.leads(author)
	c.stop()

	t.Log("a process dies after the commit point, and then a person makes a policy")
	part := func(own bool, key string) transaction.Change {
		return transaction.Change{Relation: w.relations()["web-db"].Name, UID: uid, Endpoint: "store", Own: own, Set: map[string]string{key: "red"}}
	}
	dead := &commits.Commits{Reader: w.admin, Writer: dying{w.admin}, Now: w.now}
	_, err := dead.Commit(w.ctx, transaction.Commit{
		Namespace: w.namespace, Application: "web", Unit: int(unit.Number), PodUID: string(author.pod.UID), Term: int(term),
		Changes: []transaction.Change{part(false, "zone"), part(true, "color")},
	}, nil)
	require.ErrorIs(t, err, errDead)
	lift := w.refuses()

	c = w.controller(-1)
	author.turnTo(t, c)
	other.turnTo(t, c)
	conditions := func() []metav1.Condition { return w.app("web").Status.Conditions }
	w.eventually("a condition", func() bool { return reason(conditions(), "CommitRefused") == "CommitRefused" })
	assert.Contains(t, meta.FindStatusCondition(conditions(), "CommitRefused").Message, "no colors here")
	w.eventually("an Event", func() bool { return len(w.events("Deployment", "CommitRefused")) == 1 })
	err = author.commit(w.ctx, term, change(uid, false, "size", "9"))
	assert.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
	assert.ErrorContains(t, err, "no colors here")
	require.NoError(t, other.commit(w.ctx, 0, change(uid, false, "size", "9")), "another unit's commit")

	t.Log("views show it whole, and what others commit beside it")
	db.turnTo(t, c)
	db.stream = w.agent(c, db.token)
	value := func(s *wire.Snapshot, n int64, key string) (found string) {
		for _, u := range s.GetRelations()[0].GetUnits() {
			if u.GetNumber() == n {
				found = u.GetBag().GetData()[key]
			}
		}
		return found
	}
	hears(t, db.stream, "all of it", func(s *wire.Snapshot) bool {
		if len(s.GetRelations()) == 0 || len(s.GetRelations()[0].GetUnits()) < 2 {
			return false
		}
		assert.Equal(t, "red", s.GetRelations()[0].GetBag().GetData()["zone"])
		assert.Equal(t, "red", value(s, unit.Number, "color"))
		return value(s, 1-unit.Number, "size") == "9"
	})
	assert.True(t, convert.Holds(w.bagOf(relation.OutboxName("web", strconv.FormatInt(unit.Number, 10)))), "it is not delivered yet")

	t.Log("the person lifts it")
	lift()
	w.eventually("it can write again", func() bool { return author.commit(w.ctx, term, change(uid, false, "size", "10")) == nil })
	assert.Equal(t, map[string]string{"color": "red", "size": "10"}, w.bagOf(relation.Databag{Application: "web", Endpoint: "store", Relation: uid, Unit: strconv.FormatInt(unit.Number, 10)}.Name()).State.Data)
	w.eventually("the condition goes", func() bool { return reason(conditions(), "CommitRefused") == "" })
}
