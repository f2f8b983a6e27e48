package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	t.Setenv("KUBECONFIG", write(t, "none", ""))
	deployments := `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"namespace":"orcon-system","name":"relations-controller"},
		"spec":{"template":{"spec":{"containers":[{"image":"example.org:5000/orcon/relations-controller:v1.2.0"}]}}}}]}`
	server := answering(t, map[string]string{"/apis/apps/v1/deployments": deployments})
	tests := map[string]struct {
		why       string
		args      []string
		code      int
		out, errs string
	}{
		"NoCluster":  {"its own, and why there is no more", []string{"version"}, 0, "orcon development\n", "note: the versions of the cluster are not shown: cannot find a cluster"},
		"Client":     {"its own only", []string{"version", "--client"}, 0, "orcon development\n", ""},
		"ClientJSON": {"for programs", []string{"version", "--client", "-o", "json"}, 0, "{\n  \"client\": \"development\"\n}\n", ""},
		"Server":     {"Kubernetes and what is installed", append([]string{"version"}, server...), 0, "orcon development\nKubernetes v1.35.1\n\nNAMESPACE      DEPLOYMENT             VERSION   IMAGE\norcon-system   relations-controller   v1.2.0    example.org:5000/", ""},
		"Forbidden":  {"what you may see", append([]string{"version"}, answering(t, map[string]string{"/apis/apps/v1/deployments": ""})...), 0, "Kubernetes v1.35.1\n", "or you may not list its Deployments"},
		"Named":      {"a kubeconfig that was named counts", []string{"version", "--kubeconfig", "nowhere"}, exitMisuse, "", "cannot read kubeconfig nowhere"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call("", tc.args...)
			require.Equal(t, tc.code, code, errs)
			assert.Contains(t, out, tc.out, tc.why)
			assert.Contains(t, errs, tc.errs, tc.why)
		})
	}
}
