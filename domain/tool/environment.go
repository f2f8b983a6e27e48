package tool

// Variable is one variable that handlers find in their environment.
type Variable struct {
	Name string
	// Meaning says what it holds, and When in which events it is set; empty for all.
	Meaning, When string
}

// HandlerVariables returns what the agent adds to the environment of handlers, in order
// of name. PATH begins with the folder of the tools besides.
func HandlerVariables() []Variable {
	const (
		ofRelations = "events of relations"
		ofSecrets   = "events of secrets"
		ofEnds      = "departed and broken"
	)
	return []Variable{
		{ContextID, "the event, by which the tools write in its transaction", ""},
		{"JUJU_DEPARTING_UNIT", "the unit that leaves: the remote one, or the handler's own", "departed"},
		{"JUJU_HOOK_NAME", "the name of the event, for example db-relation-changed", ""},
		{"JUJU_MODEL_NAME", "the namespace of the pod", ""},
		{"JUJU_RELATION", "the endpoint, for example db", ofRelations},
		{RelationID, "the relation, for example db:7", ofRelations},
		{RemoteApp, "the application at the other end", ofRelations},
		{RemoteUnit, "the remote unit, for example postgres/0", "joined, departed, and changed data of a unit"},
		{"JUJU_SECRET_ID", "the secret", ofSecrets},
		{"JUJU_SECRET_LABEL", "the unit's own name for the secret", ofSecrets},
		{"JUJU_SECRET_REVISION", "the latest revision of the secret", ofSecrets},
		{"JUJU_UNIT_NAME", "the unit of the handler, for example web/0", ""},
		{"ORCON_ATTEMPT", "how often the event was sent, from 1", ""},
		{"ORCON_FINAL", "true if the relation never comes back, so that data may be deleted; else false", "broken"},
		{"ORCON_JOINED_UNITS", "the units of a first join that is one event, separated by spaces; unset if they are longer than 64 KiB",
			"joined, with tengu.io/batch"},
		{RelationUID, "the identity of the relation, which a restore keeps and no other relation has", ofRelations},
		{"ORCON_REASON", "scaled-down, replaced, application-removed, relation-removed or suspended", ofEnds},
	}
}
