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

// release returns what makes a copy start without waiting; nil if it does so already (TRUST.md A8).
func release(pod *Shape) *Injection {
	at := slices.IndexFunc(pod.Spec.InitContainers, isAgent)
	if slices.ContainsFunc(pod.Spec.InitContainers[at].Env, func(e EnvVar) bool { return e.Name == gateVariable }) {
		return nil
	}
	return &Injection{released: &at}
}
