package settle

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// observer reads a namespace from the caches, with what this process wrote laid over them.
type observer struct {
	reader client.Reader
	latest *latest
}

// namespace reads the namespace itself.
func (o observer) namespace(ctx context.Context, s *relation.Snapshot) error {
	var ns corev1.Namespace
	if err := o.reader.Get(ctx, client.ObjectKey{Name: s.Namespace}, &ns); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot read namespace %s: %w", s.Namespace, err)
	}
	s.Ending, s.Schema = ns.Name == "" || ns.DeletionTimestamp != nil, object.SchemaMode(&ns)
	s.OptedOut = ns.Labels[application.LabelOptIn] != application.OptedIn
	return nil
}

func (o observer) relations(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.RelationList
	unseen := o.latest.unseen(scope{reflect.TypeFor[*v1alpha1.Relation](), s.Namespace})
	if err := o.reader.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list relations: %w", err)
	}
	for _, r := range merge(pointers(list.Items), unseen) {
		if d, err := convert.ToRelation(r); err != nil {
			s.Unreadable = append(s.Unreadable, convert.UnreadableRelation(r, d, err))
		} else {
			s.Relations = append(s.Relations, d)
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
	for _, a := range merge(pointers(list.Items), unseen) {
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
	for _, b := range merge(pointers(list.Items), unseen) {
		bag, err := convert.ToDatabag(b)
		switch {
		case err != nil:
			s.Unreadable = append(s.Unreadable, convert.UnreadableDatabag(b, bag, err))
		case b.Spec.Purpose == v1alpha1.PurposeOutbox:
			if convert.Holds(b) {
				s.Outboxes = append(s.Outboxes, b.Name)
			}
		case b.Status.Version != "": // else a crash came before the content: it is published again
			s.Databags = append(s.Databags, bag)
		}
	}
	return nil
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
