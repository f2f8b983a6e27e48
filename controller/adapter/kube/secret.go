package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// prepare refuses what the unit may not do to secrets, and then stores their
// content, where nobody finds it before the transaction is committed. It returns
// the writes without content.
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
		place, err := e.storeContent(ctx, commit.Namespace, draft.ID, draft.Content)
		if err != nil {
			return nil, err
		}
		writes[i].Place = place
	}
	return writes, nil
}

// rehearse applies a transaction to what is stored, and stores nothing.
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
		if err := e.labelled(ctx, e.namespace, known, draft); err != nil {
			return err
		}
	}
	return nil
}

// labelled refuses an owner's label that names another secret already.
func (c *Commits) labelled(ctx context.Context, namespace string, known map[string]secret.Secret, draft secret.Draft) error {
	if draft.Label == "" {
		return nil
	}
	all, err := c.all(ctx, namespace)
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

// all returns what is known of the secrets of a namespace.
func (c *Commits) all(ctx context.Context, namespace string) ([]secret.Secret, error) {
	var list v1alpha1.RelatedSecretList
	if err := c.Reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the secrets of namespace %s: %w", namespace, err)
	}
	all := make([]secret.Secret, len(list.Items))
	for i := range list.Items {
		all[i] = convert.ToSecret(&list.Items[i])
	}
	return all, nil
}

// Secret returns what a unit reads of a secret, and notes that it keeps to it. It
// is found by its ID, or without one by the unit's label for it, in the first of the
// namespaces where the unit asks. Everything is read from the API server: what was
// taken back a moment ago is. An ID by which a relation would grant a Secret of
// somebody's is no other secret's.
func (c *Commits) Secret(ctx context.Context, asks []secret.Visitor, id string, query secret.Query) (secret.Reading, error) {
	for _, by := range asks {
		if ties := by.TiesFor(id); len(ties) > 0 {
			return c.readGranted(ctx, by.Namespace, ties, id, query)
		}
	}
	by, id, err := c.find(ctx, asks, id, query.Label)
	if err != nil {
		return secret.Reading{}, err
	}
	for attempt := 0; ; attempt++ {
		revision, err := c.look(ctx, by, id, query)
		if err != nil {
			return secret.Reading{}, err
		}
		content, err := c.readContent(ctx, by.Namespace, revision.Place)
		if errors.Is(err, errNoContent) && attempt < 3 {
			continue // it went out of reach between the two
		}
		if err != nil {
			return secret.Reading{}, fmt.Errorf("cannot read secret %s: %w", id, err)
		}
		return secret.Reading{ID: id, Revision: revision.Number, Content: content}, nil
	}
}

// find returns where the secret is that a unit calls so, and its ID. A label that
// names another than id is refused.
func (c *Commits) find(ctx context.Context, asks []secret.Visitor, id, label string) (secret.Visitor, string, error) {
	if label != "" {
		by, labelled, err := c.byLabel(ctx, asks, label)
		switch {
		case err != nil:
			return by, "", err
		case labelled != "" && id != "" && labelled != id:
			return by, "", &conversation.Error{Kind: conversation.Invalid, Message: fmt.Sprintf("cannot label secret %s %.80q: %s is called so", id, label, labelled), Cure: "take another label"}
		case labelled != "":
			return by, labelled, nil
		}
	}
	if !secret.ValidID(id) {
		return secret.Visitor{}, "", secret.Unknown(cmp.Or(id, label))
	}
	for _, by := range asks {
		var stored v1alpha1.RelatedSecret
		err := c.Reader.Get(ctx, client.ObjectKey{Namespace: by.Namespace, Name: id}, &stored)
		if err == nil {
			return by, id, nil
		}
		if !apierrors.IsNotFound(err) {
			return by, "", fmt.Errorf("cannot read secret %s: %w", id, err)
		}
	}
	return secret.Visitor{}, "", secret.Unknown(id)
}

// byLabel returns where the secret is that a unit calls so, and its ID; empty if
// there is none.
func (c *Commits) byLabel(ctx context.Context, asks []secret.Visitor, label string) (secret.Visitor, string, error) {
	for _, by := range asks {
		all, err := c.all(ctx, by.Namespace)
		if err != nil {
			return by, "", err
		}
		if i := slices.IndexFunc(all, func(s secret.Secret) bool { return s.LabelledBy(by.Unit, label) }); i >= 0 {
			return by, all[i].ID, nil
		}
	}
	return secret.Visitor{}, "", nil
}

// look decides which revision a unit reads, and notes it.
func (c *Commits) look(ctx context.Context, by secret.Visitor, id string, query secret.Query) (revision secret.Revision, err error) {
	var unreachable []secret.Place
	err = c.inTurn(ctx, by.Namespace+"/"+id, func() error {
		var stored v1alpha1.RelatedSecret
		err := c.Reader.Get(ctx, client.ObjectKey{Namespace: by.Namespace, Name: id}, &stored)
		if apierrors.IsNotFound(err) {
			return secret.Unknown(id)
		}
		if err != nil {
			return err
		}
		before := convert.ToSecret(&stored)
		is, err := c.standing(ctx, by, before)
		if err != nil {
			return err
		}
		var after secret.Secret
		revision, after, err = before.Read(by.Unit, query, is)
		if err != nil || reflect.DeepEqual(before, after) {
			return err
		}
		unreachable = secret.Unreachable(before, nil, after)
		convert.SetSecret(&stored, after, c.Now())
		return c.Writer.Status().Update(ctx, &stored)
	})
	if err != nil {
		return revision, fmt.Errorf("cannot read secret: %w", err)
	}
	c.dropContent(ctx, by.Namespace, unreachable)
	return revision, nil
}

// standing returns how a unit stands to a secret's owner: which of the relations by
// which its application was ever granted the secret live for it, and which of those wait
// for an Offer.
func (c *Commits) standing(ctx context.Context, by secret.Visitor, s secret.Secret) (secret.Standing, error) {
	is := secret.Standing{Related: slices.Contains(by.Related, s.Owner.Application)}
	for _, a := range s.Access {
		if a.Application != by.Application {
			continue
		}
		r, err := c.granted(ctx, by.Namespace, a)
		if err != nil {
			return is, err
		}
		if r.UID == "" || !r.Heeds(by.Namespace, by.Named()) {
			continue
		}
		is.Alive = append(is.Alive, a.Relation)
		if !r.Open() {
			is.Suspended = append(is.Suspended, a.Relation)
		}
	}
	return is, nil
}

// granted returns the relation of a grant, as the Offers of now leave it; without a
// UID where it has gone.
func (c *Commits) granted(ctx context.Context, namespace string, a secret.Access) (relation.Relation, error) {
	var stored v1alpha1.Relation
	key := client.ObjectKey{Namespace: cmp.Or(a.Namespace, namespace), Name: a.Name}
	if err := c.Reader.Get(ctx, key, &stored); client.IgnoreNotFound(err) != nil {
		return relation.Relation{}, fmt.Errorf("cannot read relation %s: %w", a.Name, err)
	}
	if string(stored.UID) != a.Relation {
		return relation.Relation{}, nil
	}
	r, err := convert.ToRelation(&stored)
	if err != nil || !r.Abroad() {
		return r, err
	}
	offers, _, err := object.OffersOf(ctx, c.Reader, r.Provider.Namespace)
	return r.Under(offers), err
}

// Secrets returns the secrets that a unit may manage, in order of ID.
func (c *Commits) Secrets(ctx context.Context, namespace, application string, unit int, podUID string) ([]secret.Secret, error) {
	var app v1alpha1.RelatedApplication
	if err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: application}, &app); err != nil {
		return nil, fmt.Errorf("cannot read application %s: %w", application, err)
	}
	all, err := c.all(ctx, namespace)
	if err != nil {
		return nil, err
	}
	by := secret.Unit{Application: application, Number: strconv.Itoa(unit), Leads: convert.ToLeader(&app).Left(podUID, c.Now()) > 0}
	all = slices.DeleteFunc(all, func(s secret.Secret) bool { return s.Ended() || s.MayManage(by) != nil })
	slices.SortFunc(all, func(a, b secret.Secret) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}
