package commits

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// prepare refuses writes of secrets that the unit may not make, and then stores their content, which is out of
// reach until the transaction is committed. It returns the writes without content.
func (e *executor) prepare(ctx context.Context, commit transaction.Commit, drafts []secret.Draft, leads bool) ([]secret.Write, error) {
	unit := secret.Unit{Application: commit.Application, Number: strconv.Itoa(commit.Unit), Leads: leads}
	err := e.rehearse(ctx, unit, drafts)
	if conversation.RefusalOf(err) == conversation.Gone { // unless the unit's last transaction is about to make it
		if err := e.deliverOwn(ctx, e.namespace, e.owner, e.unit); err != nil {
			return nil, err
		}
		e.stored = transaction.Stored{}
		err = e.rehearse(ctx, unit, drafts)
	}
	if err != nil {
		return nil, err
	}
	writes := make([]secret.Write, len(drafts))
	for i, draft := range drafts {
		writes[i] = draft.Write
		if len(draft.Content) == 0 {
			continue
		}
		place, err := e.Contents.Store(ctx, commit.Namespace, draft.ID, draft.Content)
		if err != nil {
			e.discard(ctx, e.namespace, writes[:i])
			return nil, err
		}
		writes[i].Place = place
	}
	return writes, nil
}

// rehearse applies the writes of secrets to the stored ones, and stores nothing.
func (e *executor) rehearse(ctx context.Context, unit secret.Unit, drafts []secret.Draft) error {
	known := map[string]secret.Secret{}
	for i, draft := range drafts {
		s, seen := known[draft.ID]
		if !seen && secret.ValidID(draft.ID) { // else there is none
			if err := e.readSecret(ctx, draft.ID); err != nil {
				return err
			}
			s = convert.ToSecret(e.secrets[draft.ID])
		}
		if err := secret.CheckContent(draft.Content); err != nil {
			return err
		}
		write := draft.Write
		if len(draft.Content) > 0 {
			write.Place = secret.Place{Key: strconv.Itoa(i)}
		}
		after, err := secret.Apply(s, write, unit, e.Now())
		if err != nil {
			return err
		}
		known[draft.ID] = after
		if err := labelled(ctx, e.Reader, e.namespace, known, draft); err != nil {
			return err
		}
	}
	return nil
}

// labelled refuses an owner's label that already names another secret.
func labelled(ctx context.Context, reader client.Reader, namespace string, known map[string]secret.Secret, draft secret.Draft) error {
	if draft.Label == "" {
		return nil
	}
	all, err := object.SecretsOf(ctx, reader, namespace)
	if err != nil {
		return err
	}
	for i := range all {
		if after, changed := known[all[i].ID]; changed {
			all[i] = after
		}
	}
	for id, s := range known {
		if !slices.ContainsFunc(all, func(other secret.Secret) bool { return other.ID == id }) {
			all = append(all, s)
		}
	}
	return secret.Unlabelled(all, known[draft.ID])
}

func (e *executor) readSecret(ctx context.Context, id string) error {
	s := object.Named(&v1alpha1.RelatedSecret{}, e.namespace, id)
	err := e.Reader.Get(ctx, client.ObjectKeyFromObject(s), s)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot read secret %s: %w", id, err)
	}
	known := transaction.StoredSecret{Term: int(s.State.Term), Transaction: s.State.Transaction}
	if err == nil {
		known.Secret = convert.ToSecret(s)
		known.There = !secret.IsTombstone(known.Secret)
	}
	e.note(func() {
		if e.secrets == nil {
			e.secrets = map[string]*v1alpha1.RelatedSecret{}
		}
		e.secrets[id] = s
		e.stored.SetSecret(id, known)
	})
	return nil
}

// writeSecret writes a secret or a tombstone, creates the object, or deletes that of a secret that has ended. The content
// that is then out of reach is marked before, and removed afterwards.
func (e *executor) writeSecret(ctx context.Context, w transaction.WriteSecret) error {
	if err := e.Contents.Mark(ctx, e.namespace, w.Unreachable); err != nil {
		return fmt.Errorf("cannot write secret %s: %w", w.ID, err)
	}
	s := e.secrets[w.ID]
	named := secret.Unreachable(w.Secret, nil, convert.ToSecret(s)) // it has them, and the stored one does not
	s.Spec = v1alpha1.RelatedSecretSpec{Application: w.Secret.Owner.Application, Unit: w.Secret.Owner.Unit}
	convert.SetSecret(s, w.Secret)
	s.State.Transaction, s.State.Term = w.Transaction, int64(w.Term)
	var err error
	switch {
	case w.Secret.Ended() && !secret.IsTombstone(w.Secret):
		err = client.IgnoreNotFound(e.Writer.Delete(ctx, s, object.Unchanged(s)))
	case s.UID == "":
		err = e.Writer.Create(ctx, s)
	default:
		err = e.Writer.Update(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("cannot write secret %s: %w", w.ID, err)
	}
	e.stored.WroteSecret(w.ID, transaction.StoredSecret{There: !w.Secret.Ended(), Secret: w.Secret, Term: w.Term, Transaction: w.Transaction})
	e.Contents.Settle(ctx, e.namespace, named, w.Unreachable)
	return nil
}

// discard removes the content of writes that are known to be refused.
func (c *Commits) discard(ctx context.Context, namespace string, writes []secret.Write) {
	if places := secret.Unreachable(secret.Secret{}, writes, secret.Secret{}); len(places) > 0 {
		c.Contents.Settle(ctx, namespace, nil, places)
	}
}
