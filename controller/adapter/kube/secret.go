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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// prepare refuses what the unit may not do to secrets, and then stores their
// content, where nobody finds it before the transaction is committed. It returns
// the writes without content.
func (c *Commits) prepare(ctx context.Context, commit relation.Commit, drafts []secret.Draft, leads bool) ([]secret.Write, error) {
	unit := secret.Unit{Application: commit.Application, Number: strconv.Itoa(commit.Unit), Leads: leads}
	if err := c.rehearse(ctx, commit.Namespace, unit, drafts); err != nil {
		return nil, err
	}
	writes := make([]secret.Write, len(drafts))
	for i, draft := range drafts {
		writes[i] = draft.Write
		if len(draft.Content) == 0 {
			continue
		}
		place, err := c.storeContent(ctx, commit.Namespace, draft.ID, draft.Content)
		if err != nil {
			return nil, err
		}
		writes[i].Place = place
	}
	return writes, nil
}

// rehearse applies a transaction to what is stored, and stores nothing.
func (c *Commits) rehearse(ctx context.Context, namespace string, unit secret.Unit, drafts []secret.Draft) error {
	known := map[string]secret.Secret{}
	for i, draft := range drafts {
		s, seen := known[draft.ID]
		if !seen && secret.ValidID(draft.ID) { // else there is none
			var stored v1alpha1.RelatedSecret
			err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: draft.ID}, &stored)
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("cannot read secret %s: %w", draft.ID, err)
			}
			s = stored.ToDomain()
		}
		if err := secret.CheckContent(draft.Content); err != nil {
			return err
		}
		write := draft.Write
		if len(draft.Content) > 0 {
			write.Place = secret.Place{Key: strconv.Itoa(i)}
		}
		after, err := secret.Apply(s, write, unit, c.Now())
		if err != nil {
			return err
		}
		known[draft.ID] = after
		if err := c.labelled(ctx, namespace, known, draft); err != nil {
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
		all[i] = list.Items[i].ToDomain()
	}
	return all, nil
}

// writeSecret brings the writes about one secret to its object, once. What is out
// of reach after it is removed.
func (c *Commits) writeSecret(ctx context.Context, by author, writes []secret.Write) error {
	var unreachable []secret.Place
	err := c.inTurn(ctx, by.namespace+"/"+writes[0].ID, func() error {
		stored, err := c.openSecret(ctx, by, writes[0])
		switch {
		case err != nil:
			return err
		case stored.Status.Transaction == by.transaction:
			return nil
		case stored.Spec.Unit == "" && stored.Status.Term > by.term:
			return ErrDeposed
		}
		before := stored.ToDomain()
		after := before
		for _, w := range writes {
			if after, err = secret.Apply(after, w, by.Unit, c.Now()); err != nil {
				return err
			}
		}
		unreachable = without(before, writes, after)
		if after.Ended() {
			return c.endSecret(ctx, stored)
		}
		stored.SetSecret(after, c.Now())
		stored.Status.Transaction = by.transaction
		if stored.Spec.Unit == "" {
			stored.Status.Term = by.term
		}
		return c.Writer.Status().Update(ctx, stored)
	})
	if err != nil {
		return fmt.Errorf("cannot write secret %s: %w", writes[0].ID, err)
	}
	c.dropContent(ctx, by.namespace, unreachable)
	return nil
}

// without returns the places that are not in a secret after writes.
func without(before secret.Secret, writes []secret.Write, after secret.Secret) []secret.Place {
	places := before.Places()
	for _, w := range writes {
		if (w.Place != secret.Place{}) {
			places = append(places, w.Place)
		}
	}
	return slices.DeleteFunc(places, func(p secret.Place) bool { return slices.Contains(after.Places(), p) })
}

// openSecret reads a secret's object, and makes it for one that is added.
func (c *Commits) openSecret(ctx context.Context, by author, first secret.Write) (*v1alpha1.RelatedSecret, error) {
	s := named(&v1alpha1.RelatedSecret{}, by.namespace, first.ID)
	wanted := v1alpha1.RelatedSecretSpec{Application: by.Application}
	if first.Own {
		wanted.Unit = by.Number
	}
	err := c.Reader.Get(ctx, client.ObjectKeyFromObject(s), s)
	if apierrors.IsNotFound(err) {
		if first.Kind != secret.Add {
			return nil, secret.Unknown(first.ID)
		}
		s = named(&v1alpha1.RelatedSecret{Spec: wanted}, by.namespace, first.ID)
		err = c.Writer.Create(ctx, s)
	}
	if apierrors.IsAlreadyExists(err) {
		err = c.Reader.Get(ctx, client.ObjectKeyFromObject(s), s)
	}
	switch {
	case err != nil:
		return nil, err
	case first.Kind == secret.Add && s.Spec != wanted:
		return nil, &conversation.Error{Kind: conversation.Invalid, Message: "cannot make secret " + first.ID + ": there is one", Cure: "make another"}
	default:
		return s, nil
	}
}

func (c *Commits) endSecret(ctx context.Context, s *v1alpha1.RelatedSecret) error {
	condition := client.Preconditions{UID: (*types.UID)(new(string(s.UID))), ResourceVersion: new(s.ResourceVersion)}
	return client.IgnoreNotFound(c.Writer.Delete(ctx, s, condition))
}

// emptySecrets moves what an outbox says of secrets to where it belongs. It is
// whole unless something of it could not be: then nothing may refer to it.
func (c *Commits) emptySecrets(ctx context.Context, outbox *v1alpha1.Databag) (whole bool, err error) {
	by := authorOf(outbox)
	whole = true
	for _, writes := range bySecret(outbox.Status.PendingSecrets) {
		err := c.writeSecret(ctx, by, writes)
		last := writes[len(writes)-1]
		switch {
		case conversation.RefusalOf(err) == conversation.Gone && last.Kind == secret.Remove && last.Revision == 0: // by whoever delivers it too
		case errors.Is(err, ErrDeposed) || conversation.RefusalOf(err) != "":
			whole = false
		case err != nil:
			return false, err
		}
	}
	return whole, nil
}

// bySecret returns writes in order of the secrets' first.
func bySecret(pending []v1alpha1.SecretWrite) [][]secret.Write {
	var all [][]secret.Write
	at := map[string]int{}
	for _, p := range pending {
		if _, seen := at[p.ID]; !seen {
			at[p.ID] = len(all)
			all = append(all, nil)
		}
		all[at[p.ID]] = append(all[at[p.ID]], p.ToDomain())
	}
	return all
}

// Secret returns what a unit reads of a secret, and notes that it keeps to it. It
// is found by its ID, or without one by the unit's label for it. related are the
// applications that a living relation joins the unit's with. Everything is read
// from the API server: what was taken back a moment ago is.
func (c *Commits) Secret(ctx context.Context, namespace string, unit secret.Unit, related []string, id string, query secret.Query) (secret.Reading, error) {
	if query.Label != "" {
		var err error
		if id, err = c.byLabel(ctx, namespace, unit, id, query.Label); err != nil {
			return secret.Reading{}, err
		}
	}
	if !secret.ValidID(id) {
		return secret.Reading{}, secret.Unknown(id)
	}
	for attempt := 0; ; attempt++ {
		revision, err := c.look(ctx, namespace, unit, related, id, query)
		if err != nil {
			return secret.Reading{}, err
		}
		content, err := c.readContent(ctx, namespace, revision.Place)
		if errors.Is(err, errNoContent) && attempt < 3 {
			continue // it went out of reach between the two
		}
		if err != nil {
			return secret.Reading{}, fmt.Errorf("cannot read secret %s: %w", id, err)
		}
		return secret.Reading{ID: id, Revision: revision.Number, Content: content}, nil
	}
}

// byLabel returns the ID of the secret that a unit calls so. A label that names
// another than id is refused.
func (c *Commits) byLabel(ctx context.Context, namespace string, unit secret.Unit, id, label string) (string, error) {
	all, err := c.all(ctx, namespace)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(s secret.Secret) bool { return s.LabelledBy(unit, label) })
	switch {
	case i >= 0 && id != "" && all[i].ID != id:
		return "", &conversation.Error{Kind: conversation.Invalid, Message: fmt.Sprintf("cannot label secret %s %.80q: %s is called so", id, label, all[i].ID), Cure: "take another label"}
	case i < 0 && id == "":
		return "", secret.Unknown(label)
	case i < 0:
		return id, nil
	default:
		return all[i].ID, nil
	}
}

// look decides which revision a unit reads, and notes it.
func (c *Commits) look(ctx context.Context, namespace string, unit secret.Unit, related []string, id string, query secret.Query) (revision secret.Revision, err error) {
	var unreachable []secret.Place
	err = c.inTurn(ctx, namespace+"/"+id, func() error {
		var stored v1alpha1.RelatedSecret
		err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: id}, &stored)
		if apierrors.IsNotFound(err) {
			return secret.Unknown(id)
		}
		if err != nil {
			return err
		}
		before := stored.ToDomain()
		alive, err := c.alive(ctx, namespace, before, unit.Application)
		if err != nil {
			return err
		}
		is := secret.Standing{Alive: alive, Related: slices.Contains(related, before.Owner.Application)}
		var after secret.Secret
		revision, after, err = before.Read(unit, query, is, c.Now())
		if err != nil || reflect.DeepEqual(before, after) {
			return err
		}
		unreachable = without(before, nil, after)
		stored.SetSecret(after, c.Now())
		return c.Writer.Status().Update(ctx, &stored)
	})
	if err != nil {
		return revision, fmt.Errorf("cannot read secret: %w", err)
	}
	c.dropContent(ctx, namespace, unreachable)
	return revision, nil
}

// alive returns those relations by which an application was ever granted a secret
// that live.
func (c *Commits) alive(ctx context.Context, namespace string, s secret.Secret, application string) ([]string, error) {
	var all []string
	for _, a := range s.Access {
		if a.Application != application {
			continue
		}
		var r v1alpha1.Relation
		if err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: a.Name}, &r); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("cannot read relation %s: %w", a.Name, err)
		}
		if d, err := r.ToDomain(); err == nil && d.UID == a.Relation && d.Alive() {
			all = append(all, a.Relation)
		}
	}
	return all, nil
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
	by := secret.Unit{Application: application, Number: strconv.Itoa(unit), Leads: app.LeaderToDomain().Left(podUID, c.Now()) > 0}
	all = slices.DeleteFunc(all, func(s secret.Secret) bool { return s.Ended() || s.MayManage(by) != nil })
	slices.SortFunc(all, func(a, b secret.Secret) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}
