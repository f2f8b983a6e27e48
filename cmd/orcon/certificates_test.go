package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What a revocation does to each namespace is shown first; where there is nothing to revoke, the cure is (TRUST.md R6).
func TestCertificatesRevoke(t *testing.T) {
	const (
		deployments = "/apis/apps/v1/deployments"
		secret      = "/api/v1/namespaces/orcon-system/secrets/orcon-ca"
		controller  = `{"metadata":{"namespace":"orcon-system","name":"relations-controller"}}`
		pod         = `{"metadata":{"namespace":"shop","name":"a"}},{"metadata":{"namespace":"shop","name":"b"}},{"metadata":{"namespace":"lab","name":"c"}}`
	)
	well := func(changes map[string]string) map[string]string {
		all := map[string]string{
			deployments:          `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[` + controller + `]}`,
			"/api/v1/pods":       `{"kind":"PodList","apiVersion":"v1","items":[` + pod + `]}`,
			"/api/v1/configmaps": `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{"namespace":"shop","name":"orcon-trust"}}]}`,
			secret:               `{"kind":"Secret","apiVersion":"v1","metadata":{"namespace":"orcon-system","name":"orcon-ca","annotations":{"certificate.orcon.tengu.io/revoked":"ab"}}}`,
		}
		for path, answer := range changes {
			if all[path] = answer; answer == "-" {
				delete(all, path)
			}
		}
		return all
	}
	const shown = "namespace lab, pods with an agent: 1: restart them afterwards: ConfigMap orcon-trust is missing, and until then they trust the revoked authority\n" +
		"namespace shop, pods with an agent: 2: they lose the controller until their nodes have the new bundle\n"
	tests := map[string]struct {
		why     string
		changes map[string]string
		answer  string
		args    []string
		code    int
		out     string
		errs    string
	}{
		"Declined":    {"nothing is changed before", nil, "\n", nil, exitMisuse, shown, "nothing was changed"},
		"Late":        {"it is revoked, and the controller does not run", nil, "y\n", []string{"--timeout=1ms"}, exitTimeout, shown, "kubectl -n orcon-system logs deployment/relations-controller"},
		"NotIn":       {"the cure", map[string]string{deployments: `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`}, "", nil, exitMisuse, "", "Orcon is not installed in this cluster: orcon check shows what is"},
		"CertManager": {"Orcon has no authority, and nothing happens", map[string]string{secret: "-"}, "", nil, exitMisuse, "", "as docs/explanation/certificates.md shows"},
		"Unseen":      {"the right that is missing", map[string]string{secret: ""}, "", []string{"--yes"}, exitMisuse, "", "cannot read Secret orcon-system/orcon-ca"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := answering(t, well(test.changes))
			code, out, errs := call(test.answer, append(append([]string{"certificates", "revoke"}, test.args...), server...)...)
			assert.Equal(t, test.code, code, test.why)
			assert.Equal(t, test.out, out, test.why)
			assert.Contains(t, errs, test.errs, test.why)
		})
	}
}
