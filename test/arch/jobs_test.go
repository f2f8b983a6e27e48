package arch

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// Editors of a namespace write every kind of runs, and the state of none: with it they could take the lock from a run
// that is under way (JOBS.md J6).
func TestStateOfRunsIsProtected(t *testing.T) {
	var kinds, stateful []string
	for _, crd := range kustomize(t, filepath.Join(repository, "deployment/crd")) {
		plural, _ := unstructuredString(crd.Object, "spec", "names", "plural")
		if !strings.HasPrefix(plural, "job") && plural != people.Nodes {
			continue
		}
		kinds = append(kinds, plural)
		text, err := crd.MarshalJSON()
		require.NoError(t, err)
		if strings.Contains(string(text), `"state":{"description"`) {
			stateful = append(stateful, plural)
		}
	}
	all := kustomize(t, filepath.Join(repository, "deployment/job-controller"))
	policies := objects[admissionv1.ValidatingAdmissionPolicy](t, all, "ValidatingAdmissionPolicy")
	bindings := objects[admissionv1.ValidatingAdmissionPolicyBinding](t, all, "ValidatingAdmissionPolicyBinding")
	require.Len(t, policies, 3)
	require.Len(t, bindings, 3)
	assert.Equal(t, []string{"jobapprovals"}, policies[0].Spec.MatchConstraints.ResourceRules[0].Resources)
	assert.ElementsMatch(t, stateful, policies[1].Spec.MatchConstraints.ResourceRules[0].Resources)
	assert.Equal(t, []string{"jobtemplateversions"}, policies[2].Spec.MatchConstraints.ResourceRules[0].Resources)
	for i, binding := range bindings {
		assert.Equal(t, policies[i].Name, binding.Spec.PolicyName)
		assert.Equal(t, []admissionv1.ValidationAction{admissionv1.Deny}, binding.Spec.ValidationActions)
	}
	roles := slices.DeleteFunc(objects[rbacv1.ClusterRole](t, all, "ClusterRole"), func(r rbacv1.ClusterRole) bool {
		return r.Name == "job-controller"
	})
	given := map[string]string{}
	for _, role := range roles {
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if slices.Contains(rule.APIGroups, "orcon.tengu.io") {
					given[role.Name+" "+resource] = strings.TrimSpace(given[role.Name+" "+resource] + " " + strings.Join(rule.Verbs, " "))
				}
			}
		}
	}
	const read, write = "get list watch", "create update patch delete"
	assert.Equal(t, map[string]string{
		"orcon-job-types jobtemplatetypes":   read,
		"orcon-job-view jobtemplates":        read,
		"orcon-job-view jobtemplateversions": read,
		"orcon-job-view jobworkspaces":       read,
		"orcon-job-view jobruns":             read,
		"orcon-job-view jobapprovals":        read,
		"orcon-job-approve jobapprovals":     "create delete get list",
		"orcon-job-approve jobruns":          "get list",
		"orcon-job-approve jobworkspaces":    "get list",
		"orcon-job-edit jobtemplates":        write,
		"orcon-job-edit jobtemplateversions": "delete",
		"orcon-job-edit jobworkspaces":       write,
		"orcon-job-edit jobruns":             write,
		"orcon-job-nodes runnodes":           "get list watch " + write,
	}, given)
	assert.Len(t, kinds, 7, "each kind has a reader")
}

// Each subresource of the people's API is a permission of its own: viewers read logs, editors read and replace states, and
// decide; plans are read by editors, and by those who approve.
func TestRightsOfThePeoplesAPI(t *testing.T) {
	all := kustomize(t, filepath.Join(repository, "deployment/job-controller"))
	given := map[string][]string{}
	for _, role := range objects[rbacv1.ClusterRole](t, all, "ClusterRole") {
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if slices.Contains(rule.APIGroups, people.Group) {
					given[role.Name+" "+resource] = rule.Verbs
				}
			}
		}
	}
	assert.Equal(t, map[string][]string{
		"orcon-job-view " + people.Runs + "/" + people.Log:             {"get"},
		"orcon-job-view " + people.Workspaces + "/" + people.PastRuns:  {"get"},
		"orcon-job-edit " + people.Runs + "/" + people.Plans:           {"get"},
		"orcon-job-approve " + people.Runs + "/" + people.Plans:        {"get"},
		"orcon-job-edit " + people.Workspaces + "/" + people.Archives:  {"get", "update"},
		"orcon-job-edit " + people.Workspaces + "/" + people.Decisions: {"create"},
		"orcon-job-edit " + people.Templates + "/" + people.Contents:   {"update"},
		"orcon-job-nodes " + people.Nodes + "/" + people.Tokens:        {"create"},
		"orcon-job-tokens " + people.Nodes + "/" + people.Tokens:       {"create"},
	}, given)
}
