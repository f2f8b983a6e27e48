package v1alpha1

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// ForBag returns the spec of the object that holds a bag.
func ForBag(b relation.Databag) DatabagSpec {
	spec := DatabagSpec{Purpose: PurposeRelation, Application: b.Application, Endpoint: b.Endpoint, Relation: b.Relation, Unit: b.Unit}
	if b.Relation == "" {
		spec.Purpose = PurposeDeclared
	}
	if b.Home.Namespace != "" {
		spec.Home = &RelationHome{Namespace: b.Home.Namespace, Name: b.Home.Name}
	}
	return spec
}

// ForOutbox returns the spec of the object in which the transactions of a unit are committed.
func ForOutbox(application, unit string) DatabagSpec {
	return DatabagSpec{Purpose: PurposeOutbox, Application: application, Unit: unit}
}

// ToDomain returns the bag that the object holds; for an Outbox, its owner alone. Beside an error it
// returns the bag that the spec names.
func (b *Databag) ToDomain() (relation.Databag, error) {
	bag := relation.Databag{
		Application: b.Spec.Application, Endpoint: b.Spec.Endpoint,
		Relation: b.Spec.Relation, Unit: b.Spec.Unit, Data: b.Status.Data,
	}
	if h := b.Spec.Home; h != nil {
		bag.Home = relation.Home{Namespace: h.Namespace, Name: h.Name}
	}
	if !b.Spec.fits() {
		return bag, fmt.Errorf("cannot read databag %q: its other fields do not go with purpose %q", b.Name, b.Spec.Purpose)
	}
	name, of := bag.Name(), "the bag of "+bag.Application+":"+bag.Endpoint
	if b.Spec.Purpose == PurposeOutbox {
		name, of = relation.OutboxName(bag.Application, bag.Unit), "the outbox of "+bag.Application+"/"+bag.Unit
	}
	if b.Name != name {
		return bag, fmt.Errorf("cannot read databag %q: it is not the name of %s", b.Name, of)
	}
	return bag, nil
}

// fits reports whether the fields go with the purpose, as the schema has it.
func (s DatabagSpec) fits() bool {
	switch s.Purpose {
	case PurposeDeclared:
		return s.Endpoint != "" && s.Relation == "" && s.Unit == "" && s.Home == nil
	case PurposeRelation:
		return s.Endpoint != "" && s.Relation != ""
	case PurposeOutbox:
		return s.Endpoint == "" && s.Relation == "" && s.Unit != "" && s.Home == nil
	}
	return false
}
