package relation

// Outbox is the object in which a unit commits its transactions.
type Outbox struct {
	Application string
	// Unit is the number of the unit.
	Unit string
	// PodUID is the unit's pod; empty if that is not known.
	PodUID string
	// UID is the object's.
	UID string
	// Holds is set while it has a transaction that is not in all its bags yet (SAFETY.md E11).
	Holds bool
	// Refusal is why its transaction is not delivered, or was dropped, until the unit's next commit.
	Refusal string
}

// Name returns the name of the object.
func (o Outbox) Name() string { return OutboxName(o.Application, o.Unit) }

// OutboxName returns the name of the object in which a unit commits its transactions.
func OutboxName(application, unit string) string {
	return objectName(application+"-"+unit+"-outbox", application, unit, "outbox")
}
