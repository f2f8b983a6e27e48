package tool

import (
	"strconv"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Notification is the JSON of an event: what happened, and which keys and versions are new
// (RELATIONS.md E10), never a value. Fields that do not apply to the event are absent.
type Notification struct {
	// Hook is Juju's name of the event: db-relation-changed.
	Hook string `json:"hook"`
	// Context names the event to tools: with it as JUJU_CONTEXT_ID they speak in its
	// transaction (RELATIONS.md E11).
	Context string `json:"context"`
	// Attempt counts from 1.
	Attempt int `json:"attempt"`
	// Model and Unit are the pod's own.
	Model string `json:"model"`
	Unit  string `json:"unit"`
	// Kind is the last word of Hook. Endpoint and Relation, as db:7, are of the
	// relation, RemoteApplication is its other side.
	Kind              conversation.Kind `json:"kind"`
	Endpoint          string            `json:"endpoint,omitempty"`
	Relation          string            `json:"relation,omitempty"`
	RemoteApplication string            `json:"remoteApplication,omitempty"`
	// RemoteUnit is the unit that the event is about, JoinedUnits all those of a first join that is announced as one
	// event (RELATIONS.md E12), DepartingUnit the unit that leaves.
	RemoteUnit    string   `json:"remoteUnit,omitempty"`
	JoinedUnits   []string `json:"joinedUnits,omitempty"`
	DepartingUnit string   `json:"departingUnit,omitempty"`
	// Secret is the ID of the secret that it is about, Label the unit's name for it, and
	// Revision its latest.
	Secret   string `json:"secret,omitempty"`
	Label    string `json:"label,omitempty"`
	Revision int    `json:"revision,omitempty"`
	// Difference is the change of the bag of RemoteUnit, or else of the application.
	Difference conversation.Difference `json:"difference,omitzero"`
	// Reason is why a unit departed or the relation was broken, Final says that it
	// never comes back (SAFETY.md E14).
	Reason conversation.Reason `json:"reason,omitempty"`
	Final  bool                `json:"final,omitempty"`
}

// Notify returns the notification of an event, without the fields that only the unit's process knows: the
// context, the model and the attempt.
func Notify(unit conversation.Unit, e conversation.Event) Notification {
	n := Notification{
		Hook: Hook(e), Unit: unit.String(), Kind: e.Kind,
		Endpoint: e.Endpoint, RemoteApplication: e.Application, JoinedUnits: unitNames(e.Joined),
		Difference: e.Difference,
		Reason:     e.Reason, Final: e.Final,
		Label: e.Label, Revision: e.Revision,
	}
	if e.Secret != "" {
		n.Secret = SecretID{ID: e.Secret}.String()
	}
	if e.Relation != "" {
		n.Relation = e.Endpoint + ":" + strconv.Itoa(e.ID)
	}
	if e.Unit != nil {
		n.RemoteUnit = e.Unit.String()
	}
	if e.Departing != nil {
		n.DepartingUnit = e.Departing.String()
	}
	return n
}

func unitNames(units []conversation.Unit) []string {
	var names []string
	for _, u := range units {
		names = append(names, u.String())
	}
	return names
}
