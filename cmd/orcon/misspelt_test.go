package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A namespace whose name is misspelt is an error for each command that would otherwise find nothing there, and call that
// an answer: nothing is owed, nothing waits.
func TestMisspeltNamespace(t *testing.T) {
	kinds := `{"kind":"APIResourceList","groupVersion":"orcon.tengu.io/v1alpha1","resources":[{"name":"relationsides","kind":"RelationSide","namespaced":true},
		{"name":"offers","kind":"Offer","namespaced":true},{"name":"bundledeployments","kind":"BundleDeployment","namespaced":true},
		{"name":"integrationsets","kind":"IntegrationSet","namespaced":true},{"name":"jobruns","kind":"JobRun","namespaced":true},
		{"name":"jobworkspaces","kind":"JobWorkspace","namespaced":true}]}`
	server := answering(t, map[string]string{
		"/apis/orcon.tengu.io/v1alpha1":             kinds,
		group + "namespaces/shpo/relationsides":     listOf("RelationSide", ""),
		group + "namespaces/shpo/offers":            listOf("Offer", ""),
		group + "namespaces/shpo/bundledeployments": listOf("BundleDeployment", ""),
		group + "namespaces/shpo/integrationsets":   listOf("IntegrationSet", ""),
		group + "namespaces/shpo/jobruns":           listOf("JobRun", ""),
		"/api/v1/namespaces/shpo/secrets":           `{"kind":"SecretList","apiVersion":"v1","items":[]}`,
	})
	for name, args := range map[string][]string{
		"Ends": {"ends"}, "EndsJSON": {"ends", "-o", "json"}, "Confirm": {"ends", "confirm", "--all"}, "Renew": {"offer", "renew"},
		"List": {"list"}, "ListJSON": {"list", "-o", "json"}, "Fleet": {"fleet", "status"}, "FleetJSON": {"fleet", "status", "-o", "json"},
		"Runs": {"job", "runs"}, "RunsJSON": {"job", "runs", "-o", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := call("", append(append(args, "-n", "shpo"), server...)...)
			assert.Equal(t, exitMisuse, code)
			assert.Empty(t, out)
			assert.Contains(t, errs, "there is no namespace shpo")
		})
	}
}
