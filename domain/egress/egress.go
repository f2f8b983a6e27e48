// Package egress judges whether NetworkPolicies let a pod connect to a port.
//
// What must not come in: selectors, which controller/adapter/kube/settle resolves.
package egress

import "slices"

// Policy is a NetworkPolicy that selects a pod and restricts its egress.
type Policy struct {
	// Name is the policy's.
	Name string
	// Rules allow connections; none allows nothing.
	Rules []Rule
}

// Rule is one rule of a policy.
type Rule struct {
	// Ports lists what it allows; none for all ports.
	Ports []Ports
	// Reaches is set if its peers include the target.
	Reaches bool
}

// Ports are the TCP ports from First to Last; the zero value has none.
type Ports struct{ First, Last int }

// Denying returns the names of the policies, in order, if none of them lets the pod connect to the target's TCP port.
// Policies add up: one that allows it is enough, and without any all is allowed.
func Denying(policies []Policy, port int) []string {
	var names []string
	for _, p := range policies {
		if slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.allows(port) }) {
			return nil
		}
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

func (r Rule) allows(port int) bool {
	return r.Reaches && (len(r.Ports) == 0 || slices.ContainsFunc(r.Ports, func(p Ports) bool { return p.First <= port && port <= p.Last }))
}
