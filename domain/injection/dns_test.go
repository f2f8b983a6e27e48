package injection_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// A pod that does not ask the cluster's DNS knows no name of a Service: its agent dials the cluster IP, as on the host
// network. It could reach no controller before, and its gate stayed shut (INJECTION.md I1, TRUST.md A4).
func TestAgentOfAPodWithoutClusterDNS(t *testing.T) {
	const (
		byName = "https://relations-controller.orcon-system.svc:9466"
		byIP   = "https://10.96.0.7:9466"
	)
	tests := map[string]struct{ why, spec, want string }{
		"Default":      {"the node's DNS", "dnsPolicy: Default", byIP},
		"None":         {"a DNS of the author's", "dnsPolicy: None, dnsConfig: {nameservers: [9.9.9.9]}", byIP},
		"ClusterFirst": {"the cluster's", "dnsPolicy: ClusterFirst", byName},
		"Unset":        {"the API server sets ClusterFirst", "nodeName: n", byName},
		"HostNetwork":  {"it falls back to the node's", "hostNetwork: true, dnsPolicy: ClusterFirst", byIP},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := plain()
			s.ControllerIP = "10.96.0.7"
			in := toJSON(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {tengu.io/consumes: sse, tengu.io/relations: x}}, spec: {"+
				tc.spec+", containers: [{name: a}]}}")
			out, decision, err := injection.Inject(s, in, nil)
			require.NoError(t, err)
			require.NoError(t, decision.Refused)
			var pod struct {
				Spec struct {
					InitContainers []struct {
						Env []struct{ Name, Value string }
					}
				}
			}
			require.NoError(t, json.Unmarshal(out, &pod))
			agent := map[string]string{}
			for _, e := range pod.Spec.InitContainers[0].Env {
				agent[e.Name] = e.Value
			}
			assert.Equal(t, tc.want, agent["ORCON_ADDRESS"], tc.why)
			assert.Equal(t, "relations-controller.orcon-system.svc", agent["ORCON_SERVER_NAME"], "its certificate has the name")
		})
	}
}

// A mesh leaves no port alone for agents that are sent elsewhere than to the controller's Service: 9466 may then be a port
// that the application connects to (TRUST.md A3).
func TestNoMeshPortForAnotherAddress(t *testing.T) {
	in := toJSON(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {tengu.io/consumes: sse, tengu.io/relations: x}}, spec: {containers: [{name: a}]}}")
	tests := map[string]struct {
		why, address string
		want         []string
	}{
		"Service":   {"agents alone use the port", "", []string{"9466", "9466"}},
		"Elsewhere": {"no agent uses it", "https://orcon.example.org:8443", []string{"", ""}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := plain()
			s.Config.ControllerAddress = tc.address
			out, decision, err := injection.Inject(s, in, nil)
			require.NoError(t, err)
			require.NoError(t, decision.Refused)
			var pod struct {
				Metadata struct{ Annotations map[string]string }
			}
			require.NoError(t, json.Unmarshal(out, &pod))
			got := []string{pod.Metadata.Annotations["config.linkerd.io/skip-outbound-ports"], pod.Metadata.Annotations["traffic.sidecar.istio.io/excludeOutboundPorts"]}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}
