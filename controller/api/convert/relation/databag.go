package relation

import (
	"fmt"
	"maps"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// ForBag returns the spec of the object that holds a bag.
func ForBag(b relation.Databag) v1alpha1.DatabagSpec {
	spec := v1alpha1.DatabagSpec{
		Purpose: v1alpha1.PurposeRelation, Application: b.Application, Endpoint: b.Endpoint, Relation: b.Relation, Unit: b.Unit,
	}
	if b.Relation == "" {
		spec.Purpose = v1alpha1.PurposeDeclared
	}
	if b.Home.Namespace != "" {
		spec.Home = &v1alpha1.RelationHome{Namespace: b.Home.Namespace, Name: b.Home.Name}
	}
	return spec
}

// ToDatabag returns the bag that an object holds; for an Outbox, its owner alone. With an error, it
// returns the bag that the spec names.
func ToDatabag(b *v1alpha1.Databag) (relation.Databag, error) {
	bag := relation.Databag{
		Application: b.Spec.Application, Endpoint: b.Spec.Endpoint,
		Relation: b.Spec.Relation, Unit: b.Spec.Unit, PodUID: b.State.PodUID, Data: b.State.Data,
	}
	if h := b.Spec.Home; h != nil {
		bag.Home = relation.Home{Namespace: h.Namespace, Name: h.Name}
	}
	if !fits(b.Spec) {
		return bag, fmt.Errorf("cannot read databag %q: its other fields do not go with purpose %q", b.Name, b.Spec.Purpose)
	}
	name, of := bag.Name(), "the bag of "+bag.Application+":"+bag.Endpoint
	if b.Spec.Purpose == v1alpha1.PurposeOutbox {
		name, of = relation.OutboxName(bag.Application, bag.Unit), "the outbox of "+bag.Application+"/"+bag.Unit
	}
	if b.Name != name {
		return bag, fmt.Errorf("cannot read databag %q: it is not the name of %s", b.Name, of)
	}
	return bag, nil
}

// fits reports whether the fields go with the purpose, as the schema has it.
func fits(s v1alpha1.DatabagSpec) bool {
	switch s.Purpose {
	case v1alpha1.PurposeDeclared:
		return s.Endpoint != "" && s.Relation == "" && s.Unit == "" && s.Home == nil
	case v1alpha1.PurposeRelation:
		return s.Endpoint != "" && s.Relation != ""
	case v1alpha1.PurposeOutbox:
		return s.Endpoint == "" && s.Relation == "" && s.Unit != "" && s.Home == nil
	}
	return false
}

// SetData writes data into the state, and an entry without the values of secret fields into the
// history: one write, so that the two cannot differ. An unreadable history begins anew.
func SetData(b *v1alpha1.Databag, said history.Entry, data map[string]string, secret []string, now time.Time) {
	said.Address, said.Time = ToAddress(b), now
	record, err := ToHistory(b)
	if err != nil {
		record.Entries = nil
	}
	setHistory(b, record.Append(said, b.State.Data, data, secret))
	b.State.Data = maps.Clone(data)
	b.State.Version = databag.Version(data)
}

// ToAddress returns the owner of a databag and its relation.
func ToAddress(b *v1alpha1.Databag) conversation.Address {
	return relation.Databag{Application: b.Spec.Application, Relation: b.Spec.Relation, Unit: b.Spec.Unit}.Address()
}
