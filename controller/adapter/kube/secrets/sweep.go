package secrets

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Vault observes and removes what is left of secrets.
type Vault struct {
	Contents

	// Cached reads from the informers.
	Cached client.Reader
}

// Namespaces returns those that have opted in.
func (v *Vault) Namespaces(ctx context.Context) ([]string, error) {
	var list corev1.NamespaceList
	if err := v.Cached.List(ctx, &list, client.MatchingLabels{application.LabelOptIn: application.OptedIn}); err != nil {
		return nil, fmt.Errorf("cannot list namespaces: %w", err)
	}
	all := make([]string, len(list.Items))
	for i := range list.Items {
		all[i] = list.Items[i].Name
	}
	return all, nil
}

// Observe returns what is known of a namespace's secrets. It reads from the API server itself: what is absent
// there does not exist.
func (v *Vault) Observe(ctx context.Context, namespace string) (s secret.Snapshot, err error) {
	s.Now = v.Now()
	if s.Marks, err = v.marks(ctx, namespace); err != nil {
		return s, err
	}
	var bags v1alpha1.DatabagList
	if err := v.Reader.List(ctx, &bags, client.InNamespace(namespace)); err != nil {
		return s, fmt.Errorf("cannot list databags: %w", err)
	}
	s.Busy = slices.ContainsFunc(bags.Items, func(b v1alpha1.Databag) bool { return convert.Holds(&b) })
	if s.Secrets, err = object.SecretsOf(ctx, v.Reader, namespace); err != nil || len(s.Secrets) == 0 {
		return s, err
	}
	if s.Defined, err = v.defined(ctx); err != nil {
		return s, err
	}
	var relations v1alpha1.RelationList
	if err := v.Reader.List(ctx, &relations, client.InNamespace(namespace)); err != nil {
		return s, fmt.Errorf("cannot list relations: %w", err)
	}
	for i := range relations.Items {
		s.Relations = append(s.Relations, convert.Identity(&relations.Items[i]))
	}
	var sides v1alpha1.RelationSideList
	if err := v.Reader.List(ctx, &sides, client.InNamespace(namespace)); err != nil {
		return s, fmt.Errorf("cannot list sides of relations: %w", err)
	}
	for i := range sides.Items {
		s.Relations = append(s.Relations, sides.Items[i].Spec.Relation)
	}
	var apps v1alpha1.RelatedApplicationList
	if err := v.Reader.List(ctx, &apps, client.InNamespace(namespace)); err != nil {
		return s, fmt.Errorf("cannot list applications: %w", err)
	}
	s.Units = make(map[string]secret.Roll, len(apps.Items))
	for i := range apps.Items {
		if _, err := convert.ToRecord(&apps.Items[i]); err == nil { // else its units are unknown
			s.Units[apps.Items[i].Name] = rollOf(&apps.Items[i])
		}
	}
	return s, v.observeVisitors(ctx, &s)
}

// defined returns when the definitions of relations and of their sides were made; zero if there are none, so that none can
// be listed either.
func (v *Vault) defined(ctx context.Context) (last time.Time, err error) {
	for _, plural := range []string{"relations", "relationsides"} {
		definition, err := object.Definition(ctx, v.Reader, plural)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return last, err
		case definition.CreationTimestamp.After(last):
			last = definition.CreationTimestamp.UTC()
		}
	}
	return last, nil
}

// observeVisitors reads from other namespaces which relations of grants still exist, and the units of
// consumers.
func (v *Vault) observeVisitors(ctx context.Context, s *secret.Snapshot) error {
	for _, one := range s.Secrets {
		for _, a := range one.Access {
			if err := v.observeGrant(ctx, s, a); err != nil {
				return err
			}
		}
		for _, reader := range one.Readers {
			if err := v.observeReader(ctx, s, reader); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *Vault) observeGrant(ctx context.Context, s *secret.Snapshot, a secret.Access) error {
	if a.Namespace == "" || slices.Contains(s.Relations, a.Relation) {
		return nil
	}
	r, err := object.RelationOf(ctx, v.Reader, client.ObjectKey{Namespace: a.Namespace, Name: a.Name}, a.Relation)
	if r != nil {
		s.Relations = append(s.Relations, a.Relation)
	}
	return err
}

func (v *Vault) observeReader(ctx context.Context, s *secret.Snapshot, reader secret.Reader) error {
	name, namespace, abroad := strings.Cut(reader.Application, ".")
	if _, known := s.Units[reader.Application]; !abroad || known {
		return nil
	}
	var app v1alpha1.RelatedApplication
	if err := v.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &app); err != nil {
		return client.IgnoreNotFound(err) // what is not there is not known
	}
	if _, err := convert.ToRecord(&app); err == nil {
		s.Units[reader.Application] = rollOf(&app)
	}
	return nil
}

// marks returns the marks of all stored contents.
func (v *Vault) marks(ctx context.Context, namespace string) ([]secret.Mark, error) {
	var all []secret.Mark
	for i := range shards {
		shard := object.Named(&corev1.Secret{}, namespace, ContentSecret(i))
		if err := v.Reader.Get(ctx, client.ObjectKeyFromObject(shard), shard); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("cannot read Secret %s: %w", shard.Name, err)
		}
		all = append(all, marksOf(shard, i)...)
	}
	return all, nil
}

func rollOf(app *v1alpha1.RelatedApplication) secret.Roll {
	roll := secret.Roll{Next: int(app.State.NextUnit), Since: app.CreationTimestamp.UTC()}
	for _, u := range app.State.Units {
		number := strconv.FormatInt(u.Number, 10)
		if u.DepartureReason == "" {
			roll.Here = append(roll.Here, number)
		} else {
			roll.Gone = append(roll.Gone, number)
		}
	}
	return roll
}

// Apply carries out one decision. Applying it twice does no harm.
func (v *Vault) Apply(ctx context.Context, namespace string, decision secret.Decision) error {
	switch d := decision.(type) {
	case secret.End:
		return v.remove(ctx, namespace, d.ID)
	case secret.Drop:
		return v.remove(ctx, namespace, d.ID)
	case secret.LetGo:
		return v.forget(ctx, namespace, d.ID, d.Of)
	case secret.Unmark:
		return v.settleDoubted(ctx, namespace, d.Places, unmark)
	case secret.Discard:
		return v.settleDoubted(ctx, namespace, d.Places, removeMarked)
	default:
		return fmt.Errorf("cannot apply %T: it is not known here", decision)
	}
}

// settleDoubted changes contents whose marks are still there, and still old enough.
func (v *Vault) settleDoubted(
	ctx context.Context, namespace string, places []secret.Place, change func(shard *corev1.Secret, key string) (differs bool),
) error {
	return v.changeEach(ctx, namespace, places, func(shard *corev1.Secret, keys []string) (differs bool) {
		for _, m := range marksOf(shard, 0) {
			if slices.Contains(keys, m.Place.Key) && m.Doubted(v.Now()) {
				differs = change(shard, m.Place.Key) || differs
			}
		}
		return differs
	})
}

// remove removes a secret or a tombstone.
func (v *Vault) remove(ctx context.Context, namespace, id string) error {
	return v.forget(ctx, namespace, id, func(secret.Secret) secret.Secret { return secret.Secret{} })
}

// forget changes or removes a secret, and then removes the content that is out of reach.
func (v *Vault) forget(ctx context.Context, namespace, id string, change func(secret.Secret) secret.Secret) error {
	var unreachable []secret.Place
	err := v.Turns.Write(ctx, namespace+"/"+id, func() error {
		var stored v1alpha1.RelatedSecret
		err := v.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: id}, &stored)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		before := convert.ToSecret(&stored)
		if before.Ended() && !secret.IsTombstone(before) {
			return nil // it was restored without state meanwhile
		}
		after := change(before)
		unreachable = secret.Unreachable(before, nil, after)
		if err := v.Mark(ctx, namespace, unreachable); err != nil {
			return err
		}
		if after.Ended() {
			return client.IgnoreNotFound(v.Writer.Delete(ctx, &stored, object.Unchanged(&stored)))
		}
		convert.SetSecret(&stored, after)
		return v.Writer.Update(ctx, &stored)
	})
	if err != nil {
		return fmt.Errorf("cannot remove the ended revisions of secret %s: %w", id, err)
	}
	v.Settle(ctx, namespace, nil, unreachable)
	return nil
}
