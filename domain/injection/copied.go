package injection

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// copied reports whether the pod is a copy of an injected one and belongs to no application, as kubectl debug --copy-to
// makes it: it has the agent, neither the label of an injected pod nor a controller, and its agent gets no data.
func copied(pod *Shape) bool {
	_, made := pod.Metadata.Controller()
	return !made && pod.Metadata.Labels[application.KeyInjected] == "" && slices.ContainsFunc(pod.Spec.InitContainers, isAgent)
}

// released is the place of the gate of a copied pod: of its agent among the init containers, and of the gate's variable
// there; variable is -1 where the agent has none.
type released struct{ agent, variable int }

// release returns what makes a copy start without waiting; nil if it does so already (TRUST.md A8). A gate that opens
// while Orcon is away would wait for ever: the controller answers the copy, and has no data for it.
func release(pod *Shape) *Injection {
	agent := slices.IndexFunc(pod.Spec.InitContainers, isAgent)
	vars := pod.Spec.InitContainers[agent].Env
	variable := slices.IndexFunc(vars, func(e EnvVar) bool { return e.Name == gateVariable })
	if variable >= 0 && vars[variable].Value == application.GateNone {
		return nil
	}
	return &Injection{released: &released{agent, variable}}
}
