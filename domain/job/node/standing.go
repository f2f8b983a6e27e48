package node

import (
	"fmt"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// The phases: the state of a node in one word.
const (
	// Unjoined is the phase of a node whose agent has not joined.
	Unjoined = "Unjoined"
	// Pending is that of one whose key no person has adopted.
	Pending = "Pending"
	// Suspended and Revoked follow from orders.
	Suspended = string(Suspend)
	Revoked   = string(Revoke)
	// Silent is that of one that has not called for a while.
	Silent = "Silent"
	// Unproven is that of one whose agent has not tested its machine, Differing that of one that does not keep the contract.
	Unproven  = "Unproven"
	Differing = "Differing"
	// Ready is that of one that takes runs.
	Ready = "Ready"
)

// Standing is the phase of a node, and its reason.
type Standing struct {
	Phase, Message string
}

// Standing returns the phase of the node at a time, and tells of a machine that waits beside that of the node.
func (n Node) Standing(now time.Time) Standing {
	s := n.standing(now)
	if n.Machine() != n.Key && n.Order != Revoke {
		s.Message += fmt.Sprintf("; another machine has joined with key %s: to have it take the place of this one, "+
			"orcon job node approve %s --key %s", n.Key, n.Name, n.Key)
	}
	return s
}

// StandingOf returns the phase that an agent with a key has: one that is not the node's machine waits.
func (n Node) StandingOf(key string, now time.Time) Standing {
	if key != n.Machine() {
		return Standing{Pending, fmt.Sprintf("another machine is adopted, and this one waits for a person, with key %s: "+
			"to have it take the place of that one, orcon job node approve %s --key %s", key, n.Name, key)}
	}
	return n.Standing(now)
}

// standing returns the phase of the node's machine.
func (n Node) standing(now time.Time) Standing {
	switch {
	case n.Order == Revoke:
		return Standing{Revoked, "it is revoked: delete it once its machine is gone"}
	case n.Key == "":
		return Standing{Unjoined, "its agent has not joined: orcon job node join " + n.Name}
	case n.Machine() != n.Adopted:
		return Standing{Pending, fmt.Sprintf("its agent waits for a person, with key %s: orcon job node approve %s", n.Key, n.Name)}
	case n.Order == Suspend:
		return Standing{Suspended, "it is suspended: " + n.approve() + " has it take runs again"}
	case n.Seen.IsZero():
		return Standing{Silent, "its agent has not called since it was adopted: it does within seconds, if it runs and reaches the controller"}
	case now.Sub(n.Seen) >= Lost:
		return Standing{Silent, "it does not call: see that its agent runs and reaches the controller"}
	}
	if s, is := n.unproven(); is {
		return s
	}
	if len(n.Namespaces) == 0 {
		return Standing{Ready, "it takes no runs, since it permits no namespace: " + n.approve() + " --namespaces NAMESPACE"}
	}
	return Standing{Ready, fmt.Sprintf("it takes runs, up to %d at once", n.Capacity)}
}

// approve returns the command that approves the node's machine.
func (n Node) approve() string {
	command := "orcon job node approve " + n.Name
	if n.Machine() != n.Key {
		command += " --key " + n.Machine()
	}
	return command
}

// Conditions returns the conditions of a node.
func (s Standing) Conditions() []condition.Condition {
	if s.Phase == Ready {
		return condition.Settled(s.Phase, s.Message)
	}
	return condition.Stuck(s.Phase, s.Message)
}

// Meanings returns every reason that a node shows.
func Meanings() []condition.Meaning {
	stalled := func(phase, means, cure string) condition.Meaning {
		return condition.Meaning{Type: condition.Stalled, Reason: phase, Means: means, Cure: cure}
	}
	return []condition.Meaning{
		{Type: condition.Ready, Reason: Ready, Means: "it takes runs", Cure: "nothing to do"},
		stalled(Unjoined, "its agent has not joined", "make a token by orcon job node join, and give it to the agent"),
		stalled(Pending, "no person has adopted the key of its agent", "compare the key, then orcon job node approve"),
		stalled(Suspended, "it gets no further run", "orcon job node approve, when it may"),
		stalled(Revoked, "each of its calls is refused", "delete it once its machine is gone"),
		stalled(Silent, "it has not called for a minute", "see that its agent runs and reaches the controller"),
		stalled(Unproven, "its agent has not tested its machine yet", "wait, see the log of its agent, or update the agent"),
		stalled(Differing, "it does not carry out runs as the contract promises", "mend its engine, or orcon job node approve --accept CHECK"),
	}
}
