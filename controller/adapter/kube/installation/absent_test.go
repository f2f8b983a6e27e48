package installation_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Objects whose controller is not installed would wait for ever: check names one, and the command that installs the
// controller (SAFETY.md D13). Without such objects the controller is not missed.
func TestAbsentController(t *testing.T) {
	const (
		group       = "GET /apis/orcon.tengu.io/v1alpha1/"
		deployments = "GET /apis/apps/v1/deployments"
		bundles     = "FAIL Deployment of the bundle controller: not installed, although BundleDeployment shop/blog is there, which nothing " +
			"deploys or deletes: orcon install builtin:bundle-controller --name orcon-bundles -n orcon-system\n"
		jobs = "FAIL Deployment of the job controller: not installed, although JobWorkspace shop/network is there, whose runs nothing " +
			"starts or ends: orcon install builtin:job-controller --name orcon-jobs -n orcon-system\n"
	)
	const allowed = `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`
	list := func(kind, items string) string {
		return `{"kind":"` + kind + `List","apiVersion":"orcon.tengu.io/v1alpha1","items":[` + items + `]}`
	}
	both := orconServes("Relation", "BundleDeployment", "JobWorkspace")
	blog, network := `{"metadata":{"namespace":"shop","name":"blog"}}`, `{"metadata":{"namespace":"shop","name":"network"}}`
	running := func(name string) string {
		own := `{"metadata":{"namespace":"orcon-system","name":"` + name + `","labels":{"app.kubernetes.io/name":"` + name + `"}},` +
			`"spec":{"replicas":1},"status":{"readyReplicas":1,"updatedReplicas":1}}`
		return strings.Replace(checked(nil)[deployments].(string), `"items":[`, `"items":[`+own+",", 1)
	}
	tests := map[string]struct {
		why       string
		change    answers
		namespace string
		want, not []string
	}{
		"Bundles": {"nothing acts on it", answers{
			served: both, group + "bundledeployments": list("BundleDeployment", blog), group + "jobworkspaces": list("JobWorkspace", ""),
		}, "", []string{bundles}, []string{"the job controller"}},
		"Runs": {"nothing acts on it", answers{
			served: both, group + "bundledeployments": list("BundleDeployment", ""), group + "jobworkspaces": list("JobWorkspace", network),
		}, "", []string{jobs}, []string{"the bundle controller"}},
		"Installed": {"a Deployment has a finding of its own", answers{
			served: both, group + "bundledeployments": list("BundleDeployment", blog), group + "jobworkspaces": list("JobWorkspace", network),
			deployments: running("bundle-controller"),
		}, "", []string{jobs}, []string{"Deployment of the bundle controller"}},
		"All": {"after orcon leave there is none of Orcon", answers{
			served: both, group + "bundledeployments": list("BundleDeployment", blog), group + "jobworkspaces": list("JobWorkspace", network),
			deployments: `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`,
		}, "", []string{"FAIL Deployments of Orcon: not installed", bundles, jobs}, nil},
		"Namespace": {"its users wait too", answers{
			served: both, group + "namespaces/shop/bundledeployments": list("BundleDeployment", blog),
			group + "namespaces/shop/jobworkspaces": list("JobWorkspace", network),
		}, "shop", []string{bundles, jobs}, nil},
		"NamespaceUnseen": {"whether it is installed is unknown", answers{
			served: both, group + "namespaces/shop/bundledeployments": list("BundleDeployment", blog), deployments: http.StatusForbidden,
		}, "shop", nil, []string{"Deployment of"}},
		"Forbidden": {"the roles that let viewers list them come with the controllers", answers{
			served: both, group + "bundledeployments": http.StatusForbidden, group + "jobworkspaces": http.StatusForbidden,
		}, "", nil, []string{"Deployment of"}},
		"NoKinds": {"an earlier version has none", answers{}, "", nil, []string{"Deployment of"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			tc.change["POST /apis/authorization.k8s.io/v1/subjectaccessreviews"] = allowed
			server := httptest.NewServer(checked(tc.change))
			t.Cleanup(server.Close)
			findings, err := installation.Check(t.Context(), &rest.Config{Host: server.URL}, tc.namespace, shipped, bundle.LetIn)
			require.NoError(t, err)
			var lines strings.Builder
			for _, f := range findings {
				lines.WriteString(strings.TrimSuffix(fmt.Sprintf("%s %s: %s", f.Result, f.Check, f.Message), ": ") + "\n")
			}
			for _, want := range tc.want {
				assert.Contains(t, lines.String(), want, tc.why)
			}
			for _, not := range tc.not {
				assert.NotContains(t, lines.String(), not, tc.why)
			}
		})
	}
}
