package commits

import (
	"context"
	"slices"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
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
