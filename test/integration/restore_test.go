package integration

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/commits"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// dying is a client that can write no bag of a relation: a process that dies after the commit point of a transaction.
type dying struct{ client.Client }

var errDead = errors.New("the process is dead")

func (d dying) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	var options client.CreateOptions
	options.ApplyOptions(opts)
	if b, is := o.(*v1alpha1.Databag); is && b.Spec.Purpose == v1alpha1.PurposeRelation && len(options.DryRun) == 0 {
		return errDead
	}
	return d.Client.Create(ctx, o, opts...)
}

// Databags that are restored without status, as a backup of objects restores them, hold the data, terms and records
// that they had, and the transactions that are not in all bags yet (TRUST.md T5).
func TestDatabagsAreRestoredWithoutStatus(t *testing.T) {
	// Not beside others, whose controllers would deliver what a dead one has committed.
	w := newControllerWorld(t)
	app := &v1alpha1.RelatedApplication{ObjectMeta: w.meta("web")}
	r := convert.ForPair(w.namespace, relation.Pair{Interface: "redis", Key: relation.Key{
		Requirer: relation.End{Namespace: w.namespace, Application: "web", Endpoint: "store"},
		Provider: relation.End{Namespace: w.namespace, Application: "cache", Endpoint: "main"},
	}})
	r.Finalizers = nil
	w.create(app, r)
	store := func(writer client.Client) *commits.Commits {
		return &commits.Commits{Reader: w.admin, Writer: writer, Now: w.now}
	}
	commit := func(unit, term int, pod string, changes ...transaction.Change) transaction.Commit {
		return transaction.Commit{Namespace: w.namespace, Application: "web", Unit: unit, PodUID: pod, Term: term, Changes: changes}
	}
	change := func(own bool, key, value string) transaction.Change {
		return transaction.Change{Relation: r.Name, UID: string(r.UID), Endpoint: "store", Own: own, Set: map[string]string{key: value}}
	}

	t.Log("a leader's process dies while its transaction is not in all bags, and the next leader writes")
	first, err := store(w.admin).Lead(w.ctx, w.namespace, "web", 0, "pod-0", false)
	require.NoError(t, err)
	_, err = store(dying{w.admin}).Commit(w.ctx, commit(0, first.Term, "pod-0", change(false, "user", "old"), change(true, "seen", "yes")), nil)
	require.ErrorIs(t, err, errDead)
	_, err = store(w.admin).Lead(w.ctx, w.namespace, "web", 0, "pod-0", true)
	require.NoError(t, err)
	second, err := store(w.admin).Lead(w.ctx, w.namespace, "web", 1, "pod-1", false)
	require.NoError(t, err)
	require.Greater(t, second.Term, first.Term)
	_, err = store(w.admin).Commit(w.ctx, commit(1, second.Term, "pod-1", change(false, "user", "new")), nil)
	require.NoError(t, err)

	w.restoreDatabags()
	bag := w.bagOf(relation.Databag{Application: "web", Endpoint: "store", Relation: string(r.UID)}.Name())
	outbox := w.bagOf(relation.OutboxName("web", "0"))
	assert.Equal(t, map[string]string{"user": "new"}, w.dataOf(bag), "the data")
	record, err := convert.ToHistory(bag)
	require.NoError(t, err)
	assert.EqualValues(t, 1, record.Commits, "the number of commits")
	assert.Len(t, record.Entries, 1, "the record")
	assert.True(t, convert.Holds(outbox), "the transaction that is to be delivered")

	t.Log("the transaction is dropped whole, since the bag refuses the lower term")
	require.NoError(t, store(w.admin).Deliver(w.ctx, w.namespace, outbox.Name))
	assert.Equal(t, map[string]string{"user": "new"}, w.dataOf(w.bagOf(bag.Name)), "SAFETY.md P1: the term")
	own := w.bagOf(relation.Databag{Application: "web", Endpoint: "store", Relation: string(r.UID), Unit: "0"}.Name())
	assert.Empty(t, w.dataOf(own), "TRUST.md T10")
	assert.False(t, convert.Holds(w.bagOf(outbox.Name)))
}

// restoreDatabags deletes the databags of the namespace, and creates them again as they were but for their status.
func (w *controllerWorld) restoreDatabags() {
	w.t.Helper()
	var all unstructured.UnstructuredList
	all.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("DatabagList"))
	require.NoError(w.t, w.admin.List(w.ctx, &all, client.InNamespace(w.namespace)))
	require.NotEmpty(w.t, all.Items)
	for i := range all.Items {
		o := &all.Items[i]
		require.NoError(w.t, w.admin.Delete(w.ctx, o))
		unstructured.RemoveNestedField(o.Object, "status")
		o.SetUID("")
		o.SetResourceVersion("")
		o.SetManagedFields(nil)
		require.NoError(w.t, w.admin.Create(w.ctx, o))
	}
}

// bagOf returns a databag by its name; an empty one if it does not exist.
func (w *controllerWorld) bagOf(name string) *v1alpha1.Databag {
	w.t.Helper()
	b := object.Named(&v1alpha1.Databag{}, w.namespace, name)
	require.NoError(w.t, client.IgnoreNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(b), b)))
	return b
}

// dataOf returns the data of a databag; none if it does not exist.
func (w *controllerWorld) dataOf(b *v1alpha1.Databag) map[string]string {
	w.t.Helper()
	if b.UID == "" {
		return nil
	}
	stored, err := convert.ToDatabag(b)
	require.NoError(w.t, err)
	return stored.Data
}
