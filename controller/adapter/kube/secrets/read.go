package secrets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Deliveries delivers transactions, and knows who commits them.
type Deliveries interface {
	// Deliver delivers what applications of a namespace have committed about secrets.
	Deliver(ctx context.Context, namespace string, applications []string) error
	// DeliverUnit delivers what a unit has committed, also if no cache shows it yet.
	DeliverUnit(ctx context.Context, namespace, application, unit string) error
	// Leads reports whether a pod leads an application.
	Leads(ctx context.Context, namespace, application, podUID string) (bool, error)
}

// Secrets reads secrets for units.
type Secrets struct {
	Contents

	// Deliveries comes before each read, which has all that is committed then (TRUST.md T10).
	Deliveries Deliveries
}

// Secret returns the revision of a secret that a unit reads, and records that the unit keeps to it. The secret
// has the ID or, without one, the unit's label, in the first of the namespaces in which the unit is known. All
// is read from the API server, so that a revoked grant ends at once. An ID by which a relation grants a user's
// Secret never names another secret.
func (c *Secrets) Secret(ctx context.Context, asks []secret.Visitor, id string, query secret.Query) (secret.Reading, error) {
	for _, by := range asks {
		if ties := by.TiesFor(id); len(ties) > 0 {
			return c.readGranted(ctx, by.Namespace, ties, id, query)
		}
	}
	for _, by := range asks {
		if err := c.Deliveries.Deliver(ctx, by.Namespace, append(slices.Clip(by.Related), by.Application)); err != nil {
			return secret.Reading{}, err
		}
	}
	by, id, err := c.findDelivered(ctx, asks, id, query.Label)
	if err != nil {
		return secret.Reading{}, err
	}
	for attempt := 0; ; attempt++ {
		revision, err := c.look(ctx, by, id, query)
		if err != nil {
			return secret.Reading{}, err
		}
		content, err := c.read(ctx, by.Namespace, revision.Place)
		if errors.Is(err, errNoContent) && attempt < 3 {
			continue // it went out of reach between the two
		}
		if err != nil {
			return secret.Reading{}, fmt.Errorf("cannot read secret %s: %w", id, err)
		}
		return secret.Reading{ID: id, Revision: revision.Number, Content: content}, nil
	}
}

// findDelivered finds a secret as find does, also one that the unit has made by a commit that got no answer.
func (c *Secrets) findDelivered(ctx context.Context, asks []secret.Visitor, id, label string) (secret.Visitor, string, error) {
	by, found, err := c.find(ctx, asks, id, label)
	if conversation.RefusalOf(err) != conversation.Gone {
		return by, found, err
	}
	own := asks[0]
	if err := c.Deliveries.DeliverUnit(ctx, own.Namespace, own.Application, own.Number); err != nil {
		return by, "", err
	}
	return c.find(ctx, asks, id, label)
}

// find resolves a secret by ID or by the unit's label. It refuses a label that names another secret than id.
func (c *Secrets) find(ctx context.Context, asks []secret.Visitor, id, label string) (secret.Visitor, string, error) {
	if label != "" {
		by, labelled, err := c.byLabel(ctx, asks, label)
		switch {
		case err != nil:
			return by, "", err
		case labelled != "" && id != "" && labelled != id:
			return by, "", &conversation.Error{
				Kind: conversation.Invalid, Cure: "take another label",
				Message: fmt.Sprintf("cannot label secret %s %.80q: %s is called so", id, label, labelled),
			}
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

// byLabel resolves a secret by the unit's label; the ID is empty if there is none.
func (c *Secrets) byLabel(ctx context.Context, asks []secret.Visitor, label string) (secret.Visitor, string, error) {
	for _, by := range asks {
		all, err := object.SecretsOf(ctx, c.Reader, by.Namespace)
		if err != nil {
			return by, "", err
		}
		if i := slices.IndexFunc(all, func(s secret.Secret) bool { return s.LabelledBy(by.Unit, label) }); i >= 0 {
			return by, all[i].ID, nil
		}
	}
	return secret.Visitor{}, "", nil
}

// look decides which revision a unit reads, and records it.
func (c *Secrets) look(ctx context.Context, by secret.Visitor, id string, query secret.Query) (revision secret.Revision, err error) {
	var unreachable []secret.Place
	err = c.Turns.Write(ctx, by.Namespace+"/"+id, func() error {
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
		if err := c.Mark(ctx, by.Namespace, unreachable); err != nil {
			return err
		}
		convert.SetSecret(&stored, after)
		return c.Writer.Update(ctx, &stored)
	})
	if err != nil {
		return revision, fmt.Errorf("cannot read secret: %w", err)
	}
	c.Settle(ctx, by.Namespace, nil, unreachable)
	return revision, nil
}

// standing returns what a unit's access depends on: which of the relations that grant its application the
// secret are alive for the unit, and which of those wait for an Offer.
func (c *Secrets) standing(ctx context.Context, by secret.Visitor, s secret.Secret) (secret.Standing, error) {
	is := secret.Standing{Now: c.Now(), Related: slices.Contains(by.Related, s.Owner.Application)}
	for _, a := range s.Access {
		if a.Application != by.Application {
			continue
		}
		r, err := c.granted(ctx, by.Namespace, a)
		if err != nil {
			return is, err
		}
		if r.UID == "" || r.Ended() {
			if heeded, err := c.heeded(ctx, by, a.Relation, r); err != nil {
				return is, err
			} else if !heeded {
				continue
			}
		}
		is.Alive = append(is.Alive, a.Relation)
		if r.UID != "" && !r.Open() {
			is.Suspended = append(is.Suspended, a.Relation)
		}
	}
	return is, nil
}

// heeded reports whether a unit may still read what it was granted for an ended relation: its side owes it the end.
// Across namespaces the Relation must tell that an Offer still covers it.
func (c *Secrets) heeded(ctx context.Context, by secret.Visitor, identity string, r relation.Relation) (bool, error) {
	unit, namespace := by.Named(), by.Namespace
	name, other, abroad := strings.Cut(unit.Application, ".")
	if abroad {
		unit.Application, namespace = name, other
	}
	if abroad && r.UID == "" || r.UID != "" && !r.Open() {
		return false, nil
	}
	sides, err := object.SidesOf(ctx, c.Reader, namespace, identity)
	return slices.ContainsFunc(sides, func(s relation.Side) bool {
		return s.Here().Application == unit.Application && s.Heeds(unit)
	}), err
}

// granted returns the relation of a grant with the Offers as they are now; without a UID if it is gone.
func (c *Secrets) granted(ctx context.Context, namespace string, a secret.Access) (relation.Relation, error) {
	key := client.ObjectKey{Namespace: cmp.Or(a.Namespace, namespace), Name: a.Name}
	stored, err := object.RelationOf(ctx, c.Reader, key, a.Relation)
	if err != nil || stored == nil {
		return relation.Relation{}, err
	}
	r, err := convert.ToRelation(stored)
	if err != nil || !r.Abroad() {
		return r, err
	}
	r, _, err = object.UnderOffers(ctx, c.Reader, r)
	return r, err
}

// Secrets returns the secrets that a unit may manage, in order of ID.
func (c *Secrets) Secrets(ctx context.Context, namespace, application string, unit int, podUID string) ([]secret.Secret, error) {
	leads, err := c.Deliveries.Leads(ctx, namespace, application, podUID)
	if err != nil {
		return nil, err
	}
	number := strconv.Itoa(unit)
	err = errors.Join(
		c.Deliveries.Deliver(ctx, namespace, []string{application}), c.Deliveries.DeliverUnit(ctx, namespace, application, number))
	if err != nil {
		return nil, err
	}
	all, err := object.SecretsOf(ctx, c.Reader, namespace)
	if err != nil {
		return nil, err
	}
	by := secret.Unit{Application: application, Number: number, Leads: leads}
	all = slices.DeleteFunc(all, func(s secret.Secret) bool { return s.Ended() || s.MayManage(by) != nil })
	slices.SortFunc(all, func(a, b secret.Secret) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}
