package installation_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Where only the webhook's configuration is gone, the cure installs it beside what runs: the command has the name, the
// registry and the tag of the installation. Without them it would have put images in their place that do not exist.
func TestCheckOfHalfAnInstallation(t *testing.T) {
	const (
		deployments = "GET /apis/apps/v1/deployments"
		webhooks    = "GET /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	)
	gone := `{"kind":"MutatingWebhookConfigurationList","apiVersion":"admissionregistration.k8s.io/v1","items":[]}`
	image := func(image, annotations string) string {
		all := strings.ReplaceAll(checked(nil)[deployments].(string), `"spec":{"serviceAccountName":"relations-mutating-webhook"`,
			`"spec":{"serviceAccountName":"relations-mutating-webhook","containers":[{"name":"w","image":"`+image+`"}]`)
		return strings.Replace(all, `"name":"relations-mutating-webhook",`, `"name":"relations-mutating-webhook","annotations":{`+annotations+`},`, 1)
	}
	const found = "MutatingWebhookConfigurations of Orcon"
	tests := map[string]struct{ why, deployments, want string }{
		"Bundle": {"what orcon install made", image("registry.example.org:5000/orcon/relations-mutating-webhook:v0.1.0", `"orcon.tengu.io/bundle":"ops/relations"`),
			"not installed, although Deployment orcon-system/relations-mutating-webhook is: install the source of ops/relations again, " +
				"for example orcon install builtin:selfsigned --name relations -n ops --set registry=registry.example.org:5000/orcon --set tag=v0.1.0"},
		"Others": {"what kubectl or Helm applied", image("r/relations-mutating-webhook:v1", ""),
			"not installed, although Deployment orcon-system/relations-mutating-webhook is: apply again what it was installed from, of tag v1"},
		"Digest": {"an image without a tag", image("r/relations-mutating-webhook@sha256:abc", `"orcon.tengu.io/bundle":"ops/relations"`),
			"not installed, although Deployment orcon-system/relations-mutating-webhook is: apply again what it was installed from, " +
				"with image r/relations-mutating-webhook@sha256:abc"},
		"Nothing": {"no Deployment either", `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`,
			"not installed: orcon install builtin:selfsigned --name orcon -n default, or builtin:certmanager where cert-manager is used"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(checked(answers{deployments: tc.deployments, webhooks: gone}))
			t.Cleanup(server.Close)
			findings, err := installation.Check(t.Context(), &rest.Config{Host: server.URL}, "", shipped, bundle.LetIn)
			require.NoError(t, err)
			got := ""
			for _, f := range findings {
				if f.Check == found {
					got = f.Message
				}
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}
