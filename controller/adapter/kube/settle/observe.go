package settle

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// observer reads a namespace from the caches, with what this process wrote laid over them.
type observer struct {
	reader client.Reader
	live   client.Reader
	latest *latest
}

// namespace reads the namespace itself. One that the cache does not have has gone only if the API server does not have it.
func (o observer) namespace(ctx context.Context, s *relation.Snapshot) error {
	var ns corev1.Namespace
	key := client.ObjectKey{Name: s.Namespace}
	err := o.reader.Get(ctx, key, &ns)
	if apierrors.IsNotFound(err) {
		ns = corev1.Namespace{}
		err = o.live.Get(ctx, key, &ns)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot read namespace %s: %w", s.Namespace, err)
	}
	s.UID, s.Ending, s.Schema = string(ns.UID), ns.Name == "" || ns.DeletionTimestamp != nil, object.SchemaMode(&ns)
	s.OptedOut = ns.Labels[application.LabelOptIn] != application.OptedIn
	return nil
}

// counter reads the highest id that a relation of the namespace was given.
func (o observer) counter(ctx context.Context, s *relation.Snapshot) error {
	n, _, err := recordOf(ctx, o.reader, o.latest, s.Namespace)
	if err == nil {
		s.LastRelation, err = value.Int(n.State.LastRelation)
	}
	if err != nil {
		return fmt.Errorf("cannot read the last relation of namespace %s: %w", s.Namespace, err)
	}
	return nil
}

func (o observer) relations(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.RelationList
	unseen := o.latest.unseen(scope{reflect.TypeFor[*v1alpha1.Relation](), s.Namespace})
	if err := o.reader.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list relations: %w", err)
	}
	definition := sync.OnceValues(func() (*metav1.PartialObjectMetadata, error) { return object.Definition(ctx, o.live, "relations") })
	for _, r := range merge(object.Pointers(list.Items), unseen) {
		d, unreadable := convert.ToRelation(r)
		if !d.Deleted.IsZero() && !d.Ended() {
			of, err := definition() // after the deletion was seen, and from the API server
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("cannot find out whether deleted relations end: %w", err)
			}
			if !object.DeletionEnds(r, of) {
				d.Deleted = time.Time{}
			}
		}
		if unreadable != nil {
			s.Unreadable = append(s.Unreadable, convert.UnreadableRelation(r, d, unreadable))
		} else {
			s.Relations = append(s.Relations, d)
		}
	}
	return nil
}

// sides reads what the namespace keeps of relations.
func (o observer) sides(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.RelationSideList
	unseen := o.latest.unseen(scope{reflect.TypeFor[*v1alpha1.RelationSide](), s.Namespace})
	if err := o.reader.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list sides of relations: %w", err)
	}
	for _, side := range merge(object.Pointers(list.Items), unseen) {
		switch d, err := convert.ToRelationSide(side); {
		case side.DeletionTimestamp != nil:
		case err != nil:
			s.Unreadable = append(s.Unreadable, convert.UnreadableSide(side, d, err))
		default:
			s.Sides = append(s.Sides, d)
		}
	}
	return nil
}

func (o observer) records(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.RelatedApplicationList
	unseen := o.latest.unseen(scope{reflect.TypeFor[*v1alpha1.RelatedApplication](), s.Namespace})
	if err := o.reader.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list applications: %w", err)
	}
	for _, a := range merge(object.Pointers(list.Items), unseen) {
		if record, err := convert.ToRecord(a); err != nil {
			s.Unreadable = append(s.Unreadable, convert.UnreadableRecord(a, err))
		} else {
			s.Records = append(s.Records, record)
		}
	}
	return nil
}

func (o observer) databags(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.DatabagList
	unseen := o.latest.unseen(scope{reflect.TypeFor[*v1alpha1.Databag](), s.Namespace})
	if err := o.reader.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list databags: %w", err)
	}
	for _, b := range merge(object.Pointers(list.Items), unseen) {
		bag, err := convert.ToDatabag(b)
		switch {
		case err != nil:
			s.Unreadable = append(s.Unreadable, convert.UnreadableDatabag(b, bag, err))
		case b.Spec.Purpose == v1alpha1.PurposeOutbox:
			s.Outboxes = append(s.Outboxes, convert.ToOutbox(b))
		case b.State.Version != "": // else it has no content: it is published again
			s.Databags = append(s.Databags, bag)
		}
	}
	return nil
}
