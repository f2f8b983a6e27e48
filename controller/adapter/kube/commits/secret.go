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
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// prepare refuses writes of secrets that the unit may not make, and then stores their content, which is out of
// reach until the transaction is committed. It returns the writes without content.
func (e *executor) prepare(ctx context.Context, commit transaction.Commit, drafts []secret.Draft, leads bool) ([]secret.Write, error) {
	unit := secret.Unit{Application: commit.Application, Number: strconv.Itoa(commit.Unit), Leads: leads}
	if err := e.rehearse(ctx, unit, drafts); err != nil {
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
	if e.secrets == nil {
		e.secrets = map[string]*v1alpha1.RelatedSecret{}
	}
	s := object.Named(&v1alpha1.RelatedSecret{}, e.namespace, id)
	err := e.Reader.Get(ctx, client.ObjectKeyFromObject(s), s)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot read secret %s: %w", id, err)
	}
	e.secrets[id] = s
	known := transaction.StoredSecret{There: err == nil, Term: int(s.Status.Term), Transaction: s.Status.Transaction}
	if err == nil {
		known.Secret = convert.ToSecret(s)
	}
	e.stored.SetSecret(id, known)
	return nil
}

// writeSecret writes a secret, or deletes the object of one that has ended, and then removes the content
// that is out of reach.
func (e *executor) writeSecret(ctx context.Context, w transaction.WriteSecret) error {
	s := e.secrets[w.ID]
	var err error
	if w.Secret.Ended() {
		err = client.IgnoreNotFound(e.Writer.Delete(ctx, s, object.Unchanged(s)))
	} else {
		convert.SetSecret(s, w.Secret, e.Now())
		s.Status.Transaction, s.Status.Term = w.Transaction, int64(w.Term)
		err = e.Writer.Status().Update(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("cannot write secret %s: %w", w.ID, err)
	}
	e.stored.WroteSecret(w.ID, transaction.StoredSecret{There: !w.Secret.Ended(), Secret: w.Secret, Term: w.Term, Transaction: w.Transaction})
	e.Contents.Drop(ctx, e.namespace, w.Unreachable)
	return nil
}
