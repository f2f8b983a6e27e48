package injection

import "strings"

// agentPort is the port of the controller's Service that agents use and nothing else does, so that a mesh can leave it
// alone. Agents of earlier builds use 443 of the same Service.
const agentPort = "9466"

// meshPortKeys are the annotations by which Istio and Linkerd leave outbound ports alone. Their CNI plugins read them
// when the pod's network is made: before the proxy runs, for which the agent would wait in vain (TRUST.md A3).
func meshPortKeys() []string {
	return []string{"config.linkerd.io/skip-outbound-ports", "traffic.sidecar.istio.io/excludeOutboundPorts"}
}

// withPort returns the https address of a host, which may be an address of IPv6.
func withPort(host string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return "https://" + host + ":" + agentPort
}

// agentPortExcluded returns the annotations by which meshes leave the agent's port alone, and no other. An installation
// that sends its agents elsewhere has none: that port may be one that applications use too.
func agentPortExcluded(annotations map[string]string) []pair {
	var all []pair
	for _, key := range meshPortKeys() {
		all = append(all, pair{key, merged(annotations[key], []string{agentPort})})
	}
	return all
}
