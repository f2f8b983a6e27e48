package object

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// The indexes by which the caches find objects.
const (
	// ByRequirer and ByProvider find the relations of an application, by AtEnd.
	ByRequirer = "requirer"
	ByProvider = "provider"
	// ByProviderNamespace finds the relations of other namespaces to one, by its name.
	ByProviderNamespace = "providerNamespace"
	// BySide finds the sides of an application and of the providers that it relates to, by AtEnd; ByOtherNamespace those
	// whose other end is in another namespace, by its name.
	BySide           = "side"
	ByOtherNamespace = "otherNamespace"
	// ByConsumer finds the Offers to a namespace, by its name.
	ByConsumer = "consumer"
	// ByPending finds the outboxes of an application that hold a transaction, by AtEnd; all of a namespace by AtEnd
	// without an application.
	ByPending = "pending"
	// ByConcerned finds the secrets that an application owns or reads, by AtEnd.
	ByConcerned = "concerned"
)

// index is an index of one kind.
type index struct {
	field string
	kind  client.Object
	keys  func(client.Object) []string
}

func indexes() []index {
	return []index{
		{ByRequirer, &v1alpha1.Relation{}, requirer},
		{ByProvider, &v1alpha1.Relation{}, provider},
		{ByProviderNamespace, &v1alpha1.Relation{}, providerNamespace},
		{BySide, &v1alpha1.RelationSide{}, side},
		{ByOtherNamespace, &v1alpha1.RelationSide{}, otherNamespace},
		{ByConsumer, &v1alpha1.Offer{}, consumers},
		{ByPending, &v1alpha1.Databag{}, pending},
		{ByConcerned, &v1alpha1.RelatedSecret{}, concerned},
	}
}

// Index declares the indexes. It must be called before the informers start.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, i := range indexes() {
		if err := indexer.IndexField(ctx, i.kind, i.field, i.keys); err != nil {
			return fmt.Errorf("cannot index %T by %s: %w", i.kind, i.field, err)
		}
	}
	return nil
}

// Keys returns the keys of an object in an index.
func Keys(field string, o client.Object) []string {
	for _, i := range indexes() {
		if i.field == field {
			return i.keys(o)
		}
	}
	return nil
}

// AtEnd returns the key of an application in a namespace.
func AtEnd(namespace, application string) string { return namespace + "/" + application }

// At finds the objects of an application in an index.
func At(field, namespace, application string) client.MatchingFields {
	return client.MatchingFields{field: AtEnd(namespace, application)}
}

func requirer(o client.Object) []string {
	r, ok := o.(*v1alpha1.Relation)
	if !ok {
		return nil
	}
	return []string{AtEnd(cmp.Or(r.Spec.Requirer.Namespace, r.Namespace), r.Spec.Requirer.Application)}
}

// provider leaves out a relation whose provider has not consented: the provider does not see it.
func provider(o client.Object) []string {
	r, ok := o.(*v1alpha1.Relation)
	if !ok || !Consented(r) {
		return nil
	}
	return []string{AtEnd(cmp.Or(r.Spec.Provider.Namespace, r.Namespace), r.Spec.Provider.Application)}
}

// Consented reports whether a relation concerns its provider: one that was made by hand can name any
// application, as often as its author likes (SAFETY.md M7).
func Consented(r *v1alpha1.Relation) bool {
	abroad := r.Spec.Provider.Namespace != "" && r.Spec.Provider.Namespace != r.Namespace
	return !abroad || r.Status.Offer != "" || r.State.ProviderNamespaceUID != ""
}

func providerNamespace(o client.Object) []string {
	if r, ok := o.(*v1alpha1.Relation); ok && r.Spec.Provider.Namespace != "" && r.Spec.Provider.Namespace != r.Namespace {
		return []string{r.Spec.Provider.Namespace}
	}
	return nil
}

func side(o client.Object) []string {
	s, ok := o.(*v1alpha1.RelationSide)
	if !ok {
		return nil
	}
	keys := []string{AtEnd(s.Namespace, SideEnd(s).Application)}
	if s.Spec.Role == v1alpha1.RoleProvider {
		keys = append(keys, AtEnd(cmp.Or(s.Spec.Requirer.Namespace, s.Namespace), s.Spec.Requirer.Application))
	}
	return keys
}

// SideEnd returns the end that a side is of.
func SideEnd(s *v1alpha1.RelationSide) v1alpha1.RelationEnd {
	if s.Spec.Role == v1alpha1.RoleProvider {
		return s.Spec.Provider
	}
	return s.Spec.Requirer
}

func otherNamespace(o client.Object) []string {
	if s, ok := o.(*v1alpha1.RelationSide); ok {
		if other := OtherNamespace(s); other != "" {
			return []string{other}
		}
	}
	return nil
}

// OtherNamespace returns the namespace of the other end of a side's relation; empty for the side's own.
func OtherNamespace(s *v1alpha1.RelationSide) string {
	return cmp.Or(s.Spec.Requirer.Namespace, s.Spec.Provider.Namespace)
}

func consumers(o client.Object) []string {
	if offer, ok := o.(*v1alpha1.Offer); ok {
		return offer.Spec.Consumers
	}
	return nil
}

func pending(o client.Object) []string {
	if b, ok := o.(*v1alpha1.Databag); ok && convert.Holds(b) {
		return []string{AtEnd(b.Namespace, b.Spec.Application), AtEnd(b.Namespace, "")}
	}
	return nil
}

func concerned(o client.Object) []string {
	s, ok := o.(*v1alpha1.RelatedSecret)
	if !ok {
		return nil
	}
	var keys []string
	for _, application := range Concerned(s) {
		keys = append(keys, AtEnd(s.Namespace, application))
	}
	return keys
}

// Concerned lists the applications that own or read a secret, as its namespace names them.
func Concerned(s *v1alpha1.RelatedSecret) []string {
	known := convert.ToSecret(s)
	all := []string{known.Owner.Application}
	for _, r := range known.Readers {
		all = append(all, r.Application)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
