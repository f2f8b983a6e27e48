package relation

import (
	"fmt"
	"maps"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// ToDatabag returns a databag; with an error, the one that its spec names.
func ToDatabag(b *v1alpha1.Databag) (relation.Databag, error) {
	bag := relation.Databag{
		Application: b.Spec.Application, Endpoint: b.Spec.Endpoint,
		Relation: b.Spec.Relation, Unit: b.Spec.Unit, Data: b.Status.Data,
	}
	if h := b.Spec.Home; h != nil {
		bag.Home = relation.Home{Namespace: h.Namespace, Name: h.Name}
	}
	if b.Name != bag.Name() {
		return bag, fmt.Errorf("cannot read databag %q: it is not the name of the bag of %s:%s", b.Name, b.Spec.Application, b.Spec.Endpoint)
	}
	return bag, nil
}

// SetData writes data into the status, and an entry without the values of secret fields into the
// history: one write, so that the two cannot differ. An unreadable history begins anew.
func SetData(b *v1alpha1.Databag, said history.Entry, data map[string]string, secret []string, now time.Time) {
	said.Address, said.Time = ToAddress(b), now
	record, err := ToHistory(b)
	if err != nil {
		record.Entries = nil
	}
	setHistory(b, record.Append(said, b.Status.Data, data, secret))
	b.Status.ObservedGeneration = b.Generation
	b.Status.Data = maps.Clone(data)
	b.Status.Version = databag.Version(data)
	stored := condition.Settled("Stored", "the content is stored")
	b.Status.Conditions = value.SetConditions(b.Status.Conditions, stored, b.Generation, now)
}

// ToAddress returns the owner of a databag and its relation.
func ToAddress(b *v1alpha1.Databag) conversation.Address {
	return relation.Databag{Application: b.Spec.Application, Relation: b.Spec.Relation, Unit: b.Spec.Unit}.Address()
}
