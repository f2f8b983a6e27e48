package simulation

import (
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// toolContext holds the inputs of one call of a tool. It answers as the agent does (controller/agent), but for
// secrets: a simulation has none.
type toolContext struct {
	noSecrets

	world       *world
	agent       *agent
	snapshot    conversation.Snapshot
	transaction *conversation.Transaction
	membership  conversation.Membership
}

func (t *toolContext) run(call tool.Call) tool.Result {
	return tool.Run(call, tool.Context{Relations: t, Membership: t.membership, Surroundings: t, Status: t, Secrets: t,
		Grants: t, Now: t.world.now})
}

// begin starts the call's transaction when it is first needed.
func (t *toolContext) begin() error {
	if t.transaction != nil {
		return nil
	}
	s, err := t.agent.snapshot(t.world.now)
	if err != nil {
		return err
	}
	t.snapshot, t.transaction = s, conversation.Begin(s)
	return nil
}

// Snapshot returns what the unit knows.
func (t *toolContext) Snapshot() (conversation.Snapshot, error) {
	err := t.begin()
	return t.snapshot, err
}

// Read returns a bag with what this call has written.
func (t *toolContext) Read(at conversation.Address) (conversation.Bag, error) {
	if err := t.begin(); err != nil {
		return nil, err
	}
	return t.transaction.Read(at)
}

// Set sets keys, to be stored when the call has succeeded.
func (t *toolContext) Set(uid string, app bool, values conversation.Bag) error {
	if err := t.begin(); err != nil {
		return err
	}
	return t.transaction.Set(uid, app, values)
}

// Leader tells whether the unit leads.
func (t *toolContext) Leader() (bool, error) { return t.world.leadsSurely(t.agent), nil }

// Goal returns who is there.
func (t *toolContext) Goal() (tool.Goal, error) {
	if err := t.begin(); err != nil {
		return tool.Goal{}, err
	}
	return tool.GoalOf(t.snapshot), nil
}

// Network returns the unit's address.
func (t *toolContext) Network(string, string) (tool.Network, error) {
	if err := t.begin(); err != nil {
		return tool.Network{}, err
	}
	address := t.world.pods[t.agent.pod].Address
	if address == "" {
		return tool.Network{}, refused(conversation.NotYet, "cannot find the unit's address: its pod has none yet", "try again when it has one")
	}
	return tool.Network{
		Bind:    []tool.Interface{{Name: "eth0", Addresses: []tool.Address{{IP: address, CIDR: address + "/32"}}}},
		Ingress: []string{address}, Egress: []string{address + "/32"},
	}, nil
}

// Model is not known to a pod.
func (t *toolContext) Model(string) (string, error) { return "", later("relation-model-get") }

func later(what string) error {
	return refused(conversation.Invalid, "cannot use "+what+": a simulation has none", "it is about relations")
}

// noSecrets has no place for secrets.
type noSecrets struct{}

// Add makes no secret.
func (noSecrets) Add(tool.Owner, tool.SecretChange) (tool.SecretID, error) {
	return tool.SecretID{}, later("secrets")
}

// Change makes no revision.
func (noSecrets) Change(tool.SecretID, tool.SecretChange) error { return later("secrets") }

// Remove ends no secret.
func (noSecrets) Remove(tool.SecretID, int) error { return later("secrets") }

// Get finds no secret.
func (noSecrets) Get(tool.SecretQuery) (map[string][]byte, error) { return nil, later("secrets") }

// List finds no secret.
func (noSecrets) List() ([]tool.Secret, error) { return nil, later("secrets") }

// Grant has no secret to grant.
func (noSecrets) Grant(tool.SecretID, tool.Grantee) error { return later("secrets") }

// Revoke has no secret to take back.
func (noSecrets) Revoke(tool.SecretID, tool.Grantee) error { return later("secrets") }
