package history

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
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// fieldRelation selects the bags of a relation in the API server.
const fieldRelation = "spec.relation"

// RecordedBag is one bag of a relation, with its history.
type RecordedBag struct {
	At     conversation.Address
	Stored map[string]string
	Record domain.Log
}

// FindRelation returns the relation of a namespace with a name or an integer id.
func FindRelation(ctx context.Context, reader client.Reader, namespace, name string) (relation.Relation, error) {
	var r v1alpha1.Relation
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &r)
	if id, notID := strconv.ParseInt(name, 10, 64); apierrors.IsNotFound(err) && notID == nil {
		var list v1alpha1.RelationList
		if err := reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return relation.Relation{}, fmt.Errorf("cannot list the relations of namespace %s: %w", namespace, err)
		}
		if i := slices.IndexFunc(list.Items, func(r v1alpha1.Relation) bool { return r.State.ID == id }); i >= 0 {
			r, err = list.Items[i], nil
		}
	}
	if apierrors.IsNotFound(err) {
		return relation.Relation{}, fmt.Errorf("cannot find relation %s in namespace %s: kubectl -n %s get relations lists those that are there",
			name, namespace, namespace)
	}
	if err != nil {
		return relation.Relation{}, fmt.Errorf("cannot read relation %s: %w", name, err)
	}
	return convert.ToRelation(&r)
}

// Bags returns the bags of one end of a relation: the bag that its application declares for the endpoint, and
// those of the application and its units in this relation. The application of another namespace is named
// name.namespace.
func Bags(ctx context.Context, reader client.Reader, r relation.Relation, e relation.End) ([]RecordedBag, error) {
	var here v1alpha1.DatabagList
	if err := reader.List(ctx, &here, client.InNamespace(e.Namespace), client.MatchingFields{fieldRelation: r.UID}); err != nil {
		return nil, fmt.Errorf("cannot list the databags of %s in namespace %s: %w", e, e.Namespace, err)
	}
	var declared v1alpha1.Databag
	err := reader.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: relation.DatabagName(e.Application, e.Endpoint)}, &declared)
	switch {
	case err == nil:
		here.Items = append([]v1alpha1.Databag{declared}, here.Items...)
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cannot read the databag of %s in namespace %s: %w", e, e.Namespace, err)
	}
	var all []RecordedBag
	for _, b := range here.Items {
		if b.Spec.Application != e.Application || b.Spec.Endpoint != e.Endpoint {
			continue
		}
		bag, err := read(&b, e.Namespace != r.Requirer.Namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, bag)
	}
	return all, nil
}

// read reads a bag; abroad is a bag of another namespace than the relation's.
func read(b *v1alpha1.Databag, abroad bool) (RecordedBag, error) {
	record, err := convert.ToHistory(b)
	bag := RecordedBag{convert.ToAddress(b), b.State.Data, record}
	if abroad {
		bag.At.Owner = strings.Replace(bag.At.Owner, b.Spec.Application, b.Spec.Application+"."+b.Namespace, 1)
	}
	for i := range bag.Record.Entries {
		bag.Record.Entries[i].Address = bag.At
	}
	return bag, err
}
