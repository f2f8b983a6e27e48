package installation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
)

// shipped stands for what ships with Orcon.
const shipped = "metadata: {namespace: orcon-system}\n" +
	"spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{port: 8443}, {port: 8081}]}]}\n"

// TRUST.md U3: a port that is cut is found, also by a policy that is not Orcon's.
func TestCut(t *testing.T) {
	const deployment = `
metadata: {name: api, namespace: orcon-system}
spec:
  template:
    metadata: {labels: {app: api}}
    spec:
      initContainers: [{name: proxy, ports: [{name: udp, containerPort: 53, protocol: UDP}]}]
      containers: [{name: api, ports: [{name: relations, containerPort: 8443}, {name: health, containerPort: 8081}]}]
`
	tests := map[string]struct {
		why, policy string
		cut         string
	}{
		"Other":     {why: "it selects other pods", policy: "{podSelector: {matchLabels: {app: web}}}"},
		"Egress":    {why: "it limits what the pods call", policy: "{podSelector: {}, policyTypes: [Egress]}"},
		"All":       {why: "a rule without ports and peers", policy: "{podSelector: {}, ingress: [{}]}"},
		"Nothing":   {why: "no rule", policy: "{podSelector: {matchLabels: {app: api}}}", cut: "53 8443 8081"},
		"Ports":     {why: "TCP is the default", policy: "{podSelector: {}, ingress: [{ports: [{port: 8443}, {port: 53}]}]}", cut: "53 8081"},
		"Name":      {why: "by name", policy: "{podSelector: {}, ingress: [{ports: [{port: relations}, {port: udp, protocol: UDP}]}]}", cut: "8081"},
		"Range":     {why: "a range", policy: "{podSelector: {}, ingress: [{ports: [{port: 8000, endPort: 9000}, {protocol: UDP}]}]}"},
		"From":      {why: "the kubelet is no peer that a selector names", policy: "{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}", cut: "53 8443 8081"},
		"Expressed": {why: "by expression", policy: "{podSelector: {matchExpressions: [{key: app, operator: Exists}]}}", cut: "53 8443 8081"},
	}
	var d appsv1.Deployment
	require.NoError(t, yaml.UnmarshalStrict([]byte(deployment), &d))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			policies, err := installation.ParsePolicies("metadata: {namespace: orcon-system}\nspec: " + test.policy)
			require.NoError(t, err)
			var ports []string
			for _, cut := range installation.Cut(&d, policies) {
				ports = append(ports, strings.Fields(cut)[1])
				assert.Contains(t, cut, "of Deployment orcon-system/api")
			}
			assert.Equal(t, test.cut, strings.Join(ports, " "), test.why)
		})
	}
}
