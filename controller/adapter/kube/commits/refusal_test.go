package commits

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// noColors refuses a bag with a color, as a policy of a person does.
func noColors(o client.Object) error {
	if b, is := o.(*v1alpha1.Databag); is && b.State.Data["color"] != "" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "databags"}, b.Name, errors.New("no colors here"))
	}
	return nil
}

// outboxOf returns the outbox of unit 1 of db as it is stored.
func outboxOf(t *testing.T, server *kubetest.Strict) relation.Outbox {
	t.Helper()
	b := object.Named(&v1alpha1.Databag{}, "shop", relation.OutboxName("db", "1"))
	require.NoError(t, client.IgnoreNotFound(server.Get(t.Context(), client.ObjectKeyFromObject(b), b)))
	return convert.ToOutbox(b)
}

// What the API server refuses is the author's error before the commit point, and nothing is stored (TRUST.md T10).
func TestRefusedCommit(t *testing.T) {
	for why, changes := range map[string][]transaction.Change{
		"one bag of two": {kubetest.Change("one", true, "zone", "a"), kubetest.Change("two", true, "color", "red")},
		"one bag alone":  {kubetest.Change("two", true, "color", "red")},
	} {
		server, commits := shop()
		server.Refuses = noColors
		_, err := commits.Commit(t.Context(), kubetest.Commit(changes...), nil)
		require.Equal(t, conversation.Invalid, conversation.RefusalOf(err), why)
		require.ErrorContains(t, err, "the API server refuses the databag of db/1:main: ", why)
		require.ErrorContains(t, err, "no colors here; write something else, or correct the policy or quota that refuses it", why)
		assert.Zero(t, server.Writes, why)
	}
}

// What the API server refuses after the commit point stays, is reported, and is the error of its author's commits alone,
// until it is taken (TRUST.md T10).
func TestRefusedDelivery(t *testing.T) {
	server, commits := shop()
	server.Most = 1 // the outbox is written
	_, err := commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", true, "zone", "a"), kubetest.Change("two", true, "color", "red")), nil)
	require.ErrorIs(t, err, kubetest.ErrGone)
	server.Most, server.Refuses = 0, noColors
	outbox := relation.OutboxName("db", "1")

	require.ErrorContains(t, commits.Deliver(t.Context(), "shop", outbox), "no colors here")
	assert.Contains(t, outboxOf(t, server).Refusal, "no colors here")
	assert.True(t, outboxOf(t, server).Holds)
	writes := server.Writes
	require.Error(t, commits.Deliver(t.Context(), "shop", outbox))
	assert.Equal(t, writes, server.Writes, "it is reported once")
	_, err = commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", true, "size", "9")), nil)
	require.ErrorContains(t, err, "no colors here", "the author's next commit")
	assert.Equal(t, conversation.Invalid, conversation.RefusalOf(err))
	succeedBy2(t, server)
	next := kubetest.Commit(kubetest.Change("one", false, "size", "9"))
	next.Unit, next.PodUID, next.Term = 2, "pod-2", 4
	_, err = commits.Commit(t.Context(), next, nil)
	require.NoError(t, err, "another unit's: no leader committed what is refused")

	server.Refuses = nil
	_, err = commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("two", true, "size", "9")), nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"color": "red", "size": "9"}, kubetest.BagsOf(t, server)["two/1"])
	assert.Empty(t, outboxOf(t, server).Refusal)
}

// A leader waits for what an earlier one has committed and the API server refuses: what it writes would split that.
func TestLeaderWaitsForRefusedDelivery(t *testing.T) {
	server, commits := shop()
	server.Most = 1 // the outbox is written
	_, err := commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "zone", "a"), kubetest.Change("two", true, "color", "red")), nil)
	require.ErrorIs(t, err, kubetest.ErrGone)
	server.Most, server.Refuses = 0, noColors
	succeedBy2(t, server)
	next := kubetest.Commit(kubetest.Change("one", false, "size", "9"))
	next.Unit, next.PodUID, next.Term = 2, "pod-2", 4
	_, err = commits.Commit(t.Context(), next, nil)
	require.ErrorContains(t, err, "cannot commit before the transaction of db/1 is delivered: ")
	require.ErrorContains(t, err, "no colors here")
	server.Refuses = nil
	_, err = commits.Commit(t.Context(), next, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"zone": "a", "size": "9"}, kubetest.BagsOf(t, server)["one/"])
}

// A transaction that another process drops is the error of its author's next commit, once (TRUST.md T10).
func TestDroppedTransactionIsReported(t *testing.T) {
	server, commits := shop()
	server.Most = 1 // the outbox is written
	_, err := commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "zone", "a"), kubetest.Change("two", true, "size", "9")), nil)
	require.ErrorIs(t, err, kubetest.ErrGone)
	server.Most = 0
	later := object.Named(&v1alpha1.Databag{}, "shop", relation.Databag{Application: "db", Endpoint: "main", Relation: "one"}.Name())
	later.Spec, later.State.Term, later.ResourceVersion = convert.ForBag(relation.Databag{Application: "db", Endpoint: "main", Relation: "one"}), 9, "7"
	server.Keep(later)
	require.NoError(t, commits.Deliver(t.Context(), "shop", relation.OutboxName("db", "1")))
	assert.Contains(t, outboxOf(t, server).Refusal, "cannot write the databag of db:main: the unit is not its application's leader")

	again := kubetest.Commit(kubetest.Change("two", true, "size", "10"))
	_, err = commits.Commit(t.Context(), again, nil)
	require.ErrorContains(t, err, "the unit's last transaction was dropped whole: cannot write the databag of db:main")
	assert.Empty(t, kubetest.BagsOf(t, server)["two/1"])
	assert.Empty(t, outboxOf(t, server).Refusal)
	_, err = commits.Commit(t.Context(), again, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"size": "10"}, kubetest.BagsOf(t, server)["two/1"])
}

// The values of fields are in no error: only the fields are named (TRUST.md R5).
func TestRefusalsQuoteNoValue(t *testing.T) {
	quoting := apierrors.NewInvalid(schema.GroupKind{Kind: "Databag"}, "b", field.ErrorList{field.Invalid(field.NewPath("state", "data"), "hunter2", "too short")})
	assert.Equal(t, "state.data has an invalid value", words(quoting))
	several := apierrors.NewInvalid(schema.GroupKind{Kind: "Databag"}, "b", field.ErrorList{
		field.TooLong(field.NewPath("state", "record"), "", 9),
		field.TooMany(field.NewPath("metadata", "annotations"), 3, 2),
		field.Required(field.NewPath("spec"), ""),
		field.Required(field.NewPath("spec"), "again"),
		field.Forbidden(field.NewPath("state", "transaction"), "hunter2"),
	})
	assert.Equal(t, "metadata.annotations is too long, spec is missing, state.record is too long, state.transaction is not allowed",
		words(several), "each field once, in order, with the reason")
	assert.Equal(t, "unexpected", words(errors.New("unexpected")))
	terminating := apierrors.NewForbidden(schema.GroupResource{}, "b", errors.New("the namespace ends"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	assert.False(t, final(terminating), "it goes by itself")
	assert.False(t, final(apierrors.NewConflict(schema.GroupResource{}, "b", nil)))
}
