package kube

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// fieldRelation is the field by which the API server finds the bags of a relation.
const fieldRelation = "spec.relation"

// Said is one bag of a relation: what is stored, and the record of how it came.
type Said struct {
	At     conversation.Address
	Stored map[string]string
	Record conversation.Record
}

// FindRelation returns the relation of a namespace that has a name, or else the
// integer id.
func FindRelation(ctx context.Context, reader client.Reader, namespace, name string) (relation.Relation, error) {
	var r v1alpha1.Relation
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &r)
	if id, notID := strconv.ParseInt(name, 10, 64); apierrors.IsNotFound(err) && notID == nil {
		var list v1alpha1.RelationList
		if err := reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return relation.Relation{}, fmt.Errorf("cannot list the relations of namespace %s: %w", namespace, err)
		}
		if i := slices.IndexFunc(list.Items, func(r v1alpha1.Relation) bool { return r.Status.ID == id }); i >= 0 {
			r, err = list.Items[i], nil
		}
	}
	if apierrors.IsNotFound(err) {
		return relation.Relation{}, fmt.Errorf("cannot find relation %s in namespace %s: kubectl -n %s get relations lists those that are there", name, namespace, namespace)
	}
	if err != nil {
		return relation.Relation{}, fmt.Errorf("cannot read relation %s: %w", name, err)
	}
	return convert.ToRelation(&r)
}

// Conversation returns what one end of a relation says in it: what its application
// says to everybody on that endpoint, and what it and its units say there alone. The
// application of another namespace is called name.namespace.
func Conversation(ctx context.Context, reader client.Reader, r relation.Relation, e relation.End) ([]Said, error) {
	var here v1alpha1.DatabagList
	if err := reader.List(ctx, &here, client.InNamespace(e.Namespace), client.MatchingFields{fieldRelation: r.UID}); err != nil {
		return nil, fmt.Errorf("cannot list the databags of %s in namespace %s: %w", e, e.Namespace, err)
	}
	var everybody v1alpha1.Databag
	err := reader.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: relation.DatabagName(e.Application, e.Endpoint)}, &everybody)
	switch {
	case err == nil:
		here.Items = append([]v1alpha1.Databag{everybody}, here.Items...)
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cannot read the databag of %s in namespace %s: %w", e, e.Namespace, err)
	}
	var all []Said
	for _, b := range here.Items {
		if b.Spec.Application != e.Application || b.Spec.Endpoint != e.Endpoint {
			continue
		}
		said, err := saidIn(&b, e.Namespace != r.Requirer.Namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, said)
	}
	return all, nil
}

// saidIn reads a bag; abroad is one of another namespace than the relation's.
func saidIn(b *v1alpha1.Databag, abroad bool) (Said, error) {
	record, err := convert.ToHistory(b)
	said := Said{convert.ToAddress(b), b.Status.Data, record}
	if abroad {
		said.At.Owner = strings.Replace(said.At.Owner, b.Spec.Application, b.Spec.Application+"."+b.Namespace, 1)
	}
	for i := range said.Record.Entries {
		said.Record.Entries[i].Address = said.At
	}
	return said, err
}
