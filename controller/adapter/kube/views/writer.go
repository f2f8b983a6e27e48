package views

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// writer has the databags of one application as one view reads them, with what it has committed and is not delivered
// laid over them, whole or not at all (TRUST.md T10).
type writer struct {
	*Views

	namespace, application string
	// outboxes and bags are the objects by name, each as it was read first.
	outboxes []v1alpha1.Databag
	bags     map[string]v1alpha1.Databag
	laid     map[string]transaction.StoredBag
}

// newWriter reads the outboxes of an application that hold a transaction, and the bags that these change.
func newWriter(ctx context.Context, v *Views, namespace, application string) (*writer, error) {
	w := &writer{v, namespace, application, nil, map[string]v1alpha1.Databag{}, map[string]transaction.StoredBag{}}
	var err error
	if w.outboxes, err = w.pending(ctx); err != nil {
		return nil, err
	}
	var commits []transaction.Commit
	for i := range w.outboxes {
		outbox := &w.outboxes[i]
		if _, err := convert.ToDatabag(outbox); err != nil { // its transaction is never delivered
			return nil, err
		}
		w.raise("databags", object.Revision(outbox))
		commits = append(commits, convert.ToCommit(outbox))
	}
	slices.SortStableFunc(commits, func(a, b transaction.Commit) int { return cmp.Compare(a.Term, b.Term) })
	for _, commit := range commits {
		if err := w.lay(ctx, commit); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// lay lays a transaction over the bags.
func (w *writer) lay(ctx context.Context, commit transaction.Commit) error {
	var stored transaction.Stored
	for _, change := range commit.Changes {
		name := commit.Bag(change).Name()
		state, err := w.bag(ctx, name)
		if err != nil {
			return err
		}
		stored.SetBag(name, transaction.StoredBag{Data: state.Data, Term: int(state.Term), Writer: state.Writer})
	}
	maps.Copy(w.laid, transaction.Laid(stored, commit))
	return nil
}

// bag returns the content of a bag.
func (w *writer) bag(ctx context.Context, name string) (v1alpha1.DatabagState, error) {
	b, again := w.bags[name]
	if !again {
		var err error
		if b, err = w.stored(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}); err != nil {
			return v1alpha1.DatabagState{}, err
		}
		w.bags[name] = b
		w.raise("databags", object.Revision(&b))
	}
	if b.Name != "" {
		if _, err := convert.ToDatabag(&b); err != nil {
			return v1alpha1.DatabagState{}, err
		}
	}
	state := b.State
	if laid, is := w.laid[name]; is {
		state.Data, state.Term, state.Writer = laid.Data, int64(laid.Term), cmp.Or(laid.Writer, state.Writer)
	}
	return state, nil
}

// unchanged reports whether all objects are still as they were read, so that they existed together at one moment.
func (w *writer) unchanged(ctx context.Context) bool {
	outboxes, err := w.pending(ctx)
	if err != nil || !slices.EqualFunc(outboxes, w.outboxes, func(a, b v1alpha1.Databag) bool {
		return a.Name == b.Name && a.ResourceVersion == b.ResourceVersion
	}) {
		return false
	}
	for name, read := range w.bags {
		b, err := w.stored(ctx, client.ObjectKey{Namespace: w.namespace, Name: name})
		if err != nil || b.ResourceVersion != read.ResourceVersion {
			return false
		}
	}
	return true
}

// pending lists the outboxes that hold a transaction, in order of name.
func (w *writer) pending(ctx context.Context) ([]v1alpha1.Databag, error) {
	var list v1alpha1.DatabagList
	if err := w.Reader.List(ctx, &list, object.At(object.ByPending, w.namespace, w.application), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("cannot list transactions: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.Databag) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}
