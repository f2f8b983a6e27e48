package installation_test

import (
	"fmt"
	"maps"
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

// answers is an API server: what it answers to "METHOD path". A code stands for an error.
type answers map[string]any

// The requests for what is permitted in a cluster.
const (
	clusterRoles        = "GET /apis/rbac.authorization.k8s.io/v1/clusterroles"
	clusterRoleBindings = "GET /apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	roles               = "GET /apis/rbac.authorization.k8s.io/v1/roles"
	roleBindings        = "GET /apis/rbac.authorization.k8s.io/v1/rolebindings"
)

// served is the request for the kinds of Orcon, and definitions that for the definitions of all kinds.
const (
	served      = "GET /apis/orcon.tengu.io/v1alpha1"
	definitions = "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// orconServes returns the kinds of relations that are always there, and more.
func orconServes(more ...string) string {
	var all []string
	for _, kind := range append([]string{"Databag", "Interface", "Offer", "RelatedApplication", "RelatedNamespace", "RelatedSecret", "RelationSide"}, more...) {
		all = append(all, fmt.Sprintf(`{"name":"%ss","kind":%q,"namespaced":true}`, strings.ToLower(kind), kind))
	}
	return `{"kind":"APIResourceList","groupVersion":"orcon.tengu.io/v1alpha1","resources":[` + strings.Join(all, ",") + `]}`
}

// checked are the answers of a cluster in which everything is well, with changes.
func checked(changes answers) answers {
	const part = `"app.kubernetes.io/part-of":"orcon"`
	deployment := func(name string) string {
		return `{"metadata":{"namespace":"orcon-system","name":"` + name + `","labels":{` + part + `,"app.kubernetes.io/name":"` + name + `"}},"spec":{"replicas":2,"template":{"spec":{"serviceAccountName":"` + name + `"}}},"status":{"readyReplicas":2,"updatedReplicas":2}}`
	}
	all := answers{
		"GET /version":      `{"gitVersion":"v1.35.0"}`,
		"GET /api":          `{"kind":"APIVersions","versions":["v1"]}`,
		"GET /apis":         `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"GET /api/v1":       `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"namespaces","kind":"Namespace"},{"name":"pods","kind":"Pod","namespaced":true}]}`,
		served:              orconServes("Relation"),
		"GET /apis/apps/v1": `{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"deployments","kind":"Deployment","namespaced":true}]}`,
		"GET /apis/admissionregistration.k8s.io/v1":        `{"kind":"APIResourceList","groupVersion":"admissionregistration.k8s.io/v1","resources":[{"name":"mutatingwebhookconfigurations","kind":"MutatingWebhookConfiguration"}]}`,
		"GET /apis/apps/v1/namespaces/shop/deployments":    `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`,
		"GET /apis/apps/v1/namespaces/default/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`,
		"GET /apis/apps/v1/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[` +
			deployment("relations-controller") + "," + deployment("relations-mutating-webhook") + `]}`,
		"GET /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": `{"kind":"MutatingWebhookConfigurationList","apiVersion":"admissionregistration.k8s.io/v1",
			"items":[{"metadata":{"name":"relations-mutating-webhook"},"webhooks":[{"clientConfig":{"caBundle":"Y2VydA=="}}]}]}`,
		"GET /apis/rbac.authorization.k8s.io/v1": `{"kind":"APIResourceList","groupVersion":"rbac.authorization.k8s.io/v1","resources":[
			{"name":"clusterroles","kind":"ClusterRole"},{"name":"clusterrolebindings","kind":"ClusterRoleBinding"},
			{"name":"roles","kind":"Role","namespaced":true},{"name":"rolebindings","kind":"RoleBinding","namespaced":true}]}`,
		clusterRoles:                        `{"kind":"ClusterRoleList","apiVersion":"rbac.authorization.k8s.io/v1","items":[]}`,
		clusterRoleBindings:                 `{"kind":"ClusterRoleBindingList","apiVersion":"rbac.authorization.k8s.io/v1","items":[]}`,
		roles:                               `{"kind":"RoleList","apiVersion":"rbac.authorization.k8s.io/v1","items":[]}`,
		roleBindings:                        `{"kind":"RoleBindingList","apiVersion":"rbac.authorization.k8s.io/v1","items":[]}`,
		"GET /apis/networking.k8s.io/v1":    `{"kind":"APIResourceList","groupVersion":"networking.k8s.io/v1","resources":[{"name":"networkpolicies","kind":"NetworkPolicy","namespaced":true}]}`,
		"GET /apis/apiextensions.k8s.io/v1": `{"kind":"APIResourceList","groupVersion":"apiextensions.k8s.io/v1","resources":[{"name":"customresourcedefinitions","kind":"CustomResourceDefinition"}]}`,
		definitions:                         `{"kind":"CustomResourceDefinitionList","apiVersion":"apiextensions.k8s.io/v1","items":[]}`,
		"GET /apis/networking.k8s.io/v1/networkpolicies":              `{"kind":"NetworkPolicyList","apiVersion":"networking.k8s.io/v1","items":[]}`,
		"GET /api/v1/namespaces":                                      `{"kind":"NamespaceList","apiVersion":"v1","items":[{"metadata":{"name":"shop","labels":{"tengu-injector":"enabled"}}}]}`,
		"GET /api/v1/namespaces/shop":                                 `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop","labels":{"tengu-injector":"enabled"}}}`,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews": `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`,
		"POST /api/v1/namespaces/shop/pods":                           `{"kind":"Pod","apiVersion":"v1","metadata":{"labels":{"tengu.io/injected":"true"}}}`,
		"GET /apis/orcon.tengu.io/v1alpha1/namespaces/shop/relatedapplications": `{"kind":"RelatedApplicationList","apiVersion":"orcon.tengu.io/v1alpha1","items":[{"metadata":{"name":"web"},
			"status":{"conditions":[{"type":"Ready","status":"True","message":"all relations are ready"}]}}]}`,
		"GET /api/v1/namespaces/orcon-system/services/https:relations-controller:relations/proxy/": "!404 page not found",
	}
	maps.Copy(all, changes)
	return all
}

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := a[r.Method+" "+r.URL.Path]
	text, isText := answer.(string)
	if raw, own := strings.CutPrefix(text, "!"); own { // what a Service behind the proxy answers
		http.Error(w, raw, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch code, isCode := answer.(int); {
	case isText:
		_, _ = w.Write([]byte(text))
	case isCode:
		refuse(w, code, "")
	case answer == nil:
		refuse(w, http.StatusNotFound, "")
	default:
		refuse(w, http.StatusInternalServerError, fmt.Sprint(answer))
	}
}

func refuse(w http.ResponseWriter, code int, message string) {
	reasons := map[int]string{http.StatusForbidden: "Forbidden", http.StatusNotFound: "NotFound", http.StatusInternalServerError: "InternalError"}
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`, reasons[code], code, message)
}

// No replica, a webhook that does not answer and a relations API that does not are failures; what
// the user may not see is skipped (SAFETY.md D13).
func TestCheck(t *testing.T) {
	const (
		deployments = "GET /apis/apps/v1/deployments"
		webhooks    = "GET /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
		namespaces  = "GET /api/v1/namespaces"
		pods        = "POST /api/v1/namespaces/shop/pods"
		may         = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
		proxy       = "GET /api/v1/namespaces/orcon-system/services/https:relations-controller:relations/proxy/"
		shop        = "GET /api/v1/namespaces/shop"
	)
	well := checked(nil)
	none := answers{
		deployments: strings.ReplaceAll(strings.ReplaceAll(well[deployments].(string), `"replicas":2`, `"replicas":0`), `Replicas":2`, `Replicas":0`),
		pods:        fmt.Errorf(`failed calling webhook "pods.relations.tengu.io": no endpoints available`), proxy: http.StatusServiceUnavailable,
	}
	const accounts = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"
	bundles := answers{
		served: orconServes("Relation", "BundleDeployment"),
		"GET /apis/orcon.tengu.io/v1alpha1/bundledeployments": `{"kind":"BundleDeploymentList","apiVersion":"orcon.tengu.io/v1alpha1","items":[
			{"metadata":{"namespace":"shop","name":"a"},"spec":{"serviceAccountName":"deployer"}},
			{"metadata":{"namespace":"shop","name":"b"},"spec":{"serviceAccountName":"deployer"}},{"metadata":{"namespace":"blog","name":"c"}}]}`,
	}
	with := func(answer any) answers {
		all := maps.Clone(bundles)
		all[accounts] = answer
		return all
	}
	const again = " --dry-run=client -o yaml | kubectl apply -f -"
	tests := map[string]struct {
		why       string
		change    answers
		namespace string
		want      []string
		without   string
	}{
		"AccountsClosed": {
			why: "TRUST.md R1: who needs a RoleBinding, and the command that makes it, for each account once, also where a RoleBinding of the " +
				"name lets in a controller that has moved since",
			change: with(`{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":false}}`),
			want: []string{"FAIL account default of BundleDeployments in namespace blog: the namespace does not let the bundle controller act as it: " +
				"kubectl create rolebinding orcon-bundle-account -n blog --clusterrole=orcon-bundle-account --serviceaccount=orcon-system:bundle-controller" + again + "\n" +
				"FAIL account deployer of BundleDeployments in namespace shop: the namespace does not let the bundle controller act as it: " +
				"kubectl create rolebinding orcon-bundle-account -n shop --clusterrole=orcon-bundle-account --serviceaccount=orcon-system:bundle-controller" + again + "\n"},
		},
		"AccountsOpen": {
			why:    "every namespace lets it in",
			change: with(`{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`),
			want:   []string{"ok accounts of BundleDeployments\n"},
		},
		"AccountsUnseen": {
			why: "only administrators find out what others may do", change: with(http.StatusForbidden),
			want: []string{"SKIP accounts of BundleDeployments: you may not create SubjectAccessReviews"},
		},
		"Editors": {
			why: "TRUST.md R8: by any role, in the cluster or in Orcon's namespace, and not by what the cluster binds itself", want: []string{
				"ok who may change what runs in namespace orcon-system: the cluster's administrators, account argocd/argocd, account orcon-system/ci, user ann, user cron, user imp, user tok\n" +
					"ok who may change Orcon's webhooks and policies: the cluster's administrators, account argocd/argocd\n" +
					"ok who may change Orcon's definitions: the cluster's administrators, account argocd/argocd, group crds\n",
			},
			change: answers{
				clusterRoles: `{"kind":"ClusterRoleList","apiVersion":"rbac.authorization.k8s.io/v1","items":[
					{"metadata":{"name":"all"},"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]},
					{"metadata":{"name":"crds"},"rules":[{"verbs":["get","patch"],"apiGroups":["apiextensions.k8s.io"],"resources":["customresourcedefinitions"]}]},
					{"metadata":{"name":"edit"},"rules":[{"verbs":["get","create"],"apiGroups":[""],"resources":["pods","services"]}]},
					{"metadata":{"name":"view"},"rules":[{"verbs":["get","list"],"apiGroups":["","apps"],"resources":["*"]}]}]}`,
				clusterRoleBindings: `{"kind":"ClusterRoleBindingList","apiVersion":"rbac.authorization.k8s.io/v1","items":[
					{"metadata":{"name":"a"},"roleRef":{"kind":"ClusterRole","name":"all"},"subjects":[{"kind":"ServiceAccount","namespace":"argocd","name":"argocd"}]},
					{"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"crds"},"subjects":[{"kind":"Group","name":"crds"}]},
					{"metadata":{"name":"c"},"roleRef":{"kind":"ClusterRole","name":"view"},"subjects":[{"kind":"Group","name":"viewers"}]},
					{"metadata":{"name":"own","labels":{"kubernetes.io/bootstrapping":"rbac-defaults"}},"roleRef":{"kind":"ClusterRole","name":"all"},"subjects":[{"kind":"Group","name":"system:masters"}]}]}`,
				roles: `{"kind":"RoleList","apiVersion":"rbac.authorization.k8s.io/v1","items":[
					{"metadata":{"namespace":"orcon-system","name":"ci"},"rules":[{"verbs":["patch"],"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["relations-controller"]}]},
					{"metadata":{"namespace":"orcon-system","name":"tokens"},"rules":[{"verbs":["create"],"apiGroups":[""],"resources":["serviceaccounts/token"],"resourceNames":["relations-controller"]}]},
					{"metadata":{"namespace":"orcon-system","name":"impersonators"},"rules":[{"verbs":["impersonate"],"apiGroups":[""],"resources":["serviceaccounts"]}]},
					{"metadata":{"namespace":"orcon-system","name":"cronjobs"},"rules":[{"verbs":["create"],"apiGroups":["batch"],"resources":["cronjobs"]}]},
					{"metadata":{"namespace":"shop","name":"ci"},"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}]}`,
				roleBindings: `{"kind":"RoleBindingList","apiVersion":"rbac.authorization.k8s.io/v1","items":[
					{"metadata":{"namespace":"orcon-system","name":"ci"},"roleRef":{"kind":"Role","name":"ci"},"subjects":[{"kind":"ServiceAccount","name":"ci"}]},
					{"metadata":{"namespace":"orcon-system","name":"ann"},"roleRef":{"kind":"ClusterRole","name":"edit"},"subjects":[{"kind":"User","name":"ann"}]},
					{"metadata":{"namespace":"orcon-system","name":"tok"},"roleRef":{"kind":"Role","name":"tokens"},"subjects":[{"kind":"User","name":"tok"}]},
					{"metadata":{"namespace":"orcon-system","name":"imp"},"roleRef":{"kind":"Role","name":"impersonators"},"subjects":[{"kind":"User","name":"imp"}]},
					{"metadata":{"namespace":"orcon-system","name":"cron"},"roleRef":{"kind":"Role","name":"cronjobs"},"subjects":[{"kind":"User","name":"cron"}]},
					{"metadata":{"namespace":"shop","name":"bob"},"roleRef":{"kind":"ClusterRole","name":"all"},"subjects":[{"kind":"User","name":"bob"}]}]}`,
			},
		},
		"EditorsUnseen": {
			why: "only administrators find out what others may do", change: answers{roles: http.StatusForbidden},
			want: []string{"SKIP who may change what Orcon runs: you may not list them\n"},
		},
		"Well": {why: "everything works", want: []string{
			"ok who may change Orcon's definitions: the cluster's administrators alone",
			"ok Kubernetes 1.35 or newer", "ok kinds of orcon.tengu.io/v1alpha1", "ok Deployment orcon-system/relations-controller",
			"ok Deployment orcon-system/relations-mutating-webhook", "ok the relations API of orcon-system answers",
			"ok MutatingWebhookConfiguration relations-mutating-webhook", "ok the webhook injects a pod (dry run in shop)",
		}},
		"NoReplicas": {why: "both Deployments have 0 replicas, and a declaring pod is refused", change: none, want: []string{
			"FAIL Deployment orcon-system/relations-controller: 0 replicas are wanted: kubectl -n orcon-system scale deployment relations-controller --replicas=2",
			"FAIL Deployment orcon-system/relations-mutating-webhook: 0 replicas", "FAIL the relations API", "FAIL the webhook injects a pod (dry run in shop): ",
		}},
		"NotReady": {why: "a replica is missing", change: answers{deployments: strings.ReplaceAll(well[deployments].(string), `"readyReplicas":2`, `"readyReplicas":1`)}, want: []string{"FAIL Deployment orcon-system/relations-controller: 1 of 2 replicas are ready: " +
			"kubectl -n orcon-system describe pods -l app.kubernetes.io/name=relations-controller; kubectl -n orcon-system logs deployment/relations-controller\n"}},
		"NotMade": {why: "pods are refused", change: answers{deployments: strings.ReplaceAll(well[deployments].(string), `"updatedReplicas":2`, `"updatedReplicas":1`)}, want: []string{"1 are of this version: kubectl -n orcon-system describe deployment relations-controller\n"}},
		"KindGone": {why: "TRUST.md T1: the definition of relations is deleted, and another would begin anew", change: answers{served: orconServes()}, want: []string{
			"FAIL kinds of orcon.tengu.io/v1alpha1: no definition of Relation: stop the controller and restore what was in it"}},
		"KindGoes": {why: "it waits for its objects, which a person lets go", want: []string{
			"FAIL kinds of orcon.tengu.io/v1alpha1: definition relations.orcon.tengu.io is being deleted, and its objects with it: save them"},
			change: answers{definitions: `{"kind":"CustomResourceDefinitionList","apiVersion":"apiextensions.k8s.io/v1","items":[{"metadata":{"name":"relations.orcon.tengu.io","deletionTimestamp":"2026-01-02T03:04:05Z"}}]}`}},
		"NotInstalled": {why: "the cure is the command", change: answers{deployments: `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`}, want: []string{"FAIL Deployments of Orcon: not installed: orcon install builtin:selfsigned"}},
		"NotAsked":     {why: "the pod was admitted as it was", change: answers{pods: `{"kind":"Pod","apiVersion":"v1","metadata":{}}`}, want: []string{"FAIL the webhook injects a pod (dry run in shop): the API server admits a declaring pod without calling the webhook"}},
		"OtherPolicy":  {why: "a quota says nothing about Orcon", change: answers{pods: http.StatusForbidden}, want: []string{"SKIP the webhook injects a pod (dry run in shop): another admission refuses the pod"}},
		"OtherWebhook": {
			why:    "a webhook of another project that is down says nothing about Orcon, whose other findings are shown",
			change: answers{pods: fmt.Errorf(`failed calling webhook "validate.kyverno.svc-fail": no endpoints available`)},
			want: []string{`SKIP the webhook injects a pod (dry run in shop): another admission refuses the pod: failed calling webhook "validate.kyverno.svc-fail"`,
				"ok Deployment orcon-system/relations-controller"},
		},
		"NoTrust":     {why: "the API server cannot verify the webhook", change: answers{webhooks: strings.ReplaceAll(well[webhooks].(string), "Y2VydA==", "")}, want: []string{"FAIL MutatingWebhookConfiguration relations-mutating-webhook: its caBundle is empty"}},
		"NoPlace":     {why: "nowhere to try the webhook", change: answers{namespaces: `{"kind":"NamespaceList","apiVersion":"v1","items":[]}`}, want: []string{"SKIP the webhook injects a pod: no namespace has opted in: kubectl label namespace NAME tengu-injector=enabled"}},
		"ProxyStatus": {why: "the API server's own 404 is no answer of the controller", change: answers{proxy: http.StatusNotFound}, want: []string{"FAIL the relations API of orcon-system answers"}},
		"Viewer": {
			why: "what a viewer may not see is skipped, the rest is checked",
			change: answers{
				webhooks: http.StatusForbidden, may: `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":false}}`,
			},
			want: []string{
				"ok Deployment orcon-system/relations-controller", "SKIP the relations API of orcon-system answers: you may not use the proxy",
				"SKIP MutatingWebhookConfigurations of Orcon: you may not list them", "SKIP the webhook injects a pod: you may not create pods in namespace shop",
			},
		},
		"Namespace": {why: "what concerns one namespace", namespace: "shop", want: []string{
			"ok namespace shop is opted in", "ok namespace shop: schema mode warn", "ok the webhook injects a pod (dry run in shop)", "ok application shop/web",
		}},
		"NamespaceStopped": {
			why: "without the controller new pods of the namespace wait for ever", namespace: "shop",
			change: answers{"GET /apis/apps/v1/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"namespace":"orcon-system","name":"relations-controller",
				"labels":{"app.kubernetes.io/name":"relations-controller"}},"spec":{"replicas":0}}]}`},
			want: []string{"FAIL Deployment orcon-system/relations-controller: 0 replicas are wanted: kubectl -n orcon-system scale deployment relations-controller --replicas=2"},
		},
		"NamespaceOthers": {
			why: "runs concern no relation of the namespace", namespace: "shop",
			change: answers{deployments: `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"namespace":"orcon-system","name":"job-controller",
				"labels":{"app.kubernetes.io/name":"job-controller"}},"spec":{"replicas":0}}]}`},
			without: "job-controller",
			want:    []string{"ok namespace shop is opted in"},
		},
		"NamespaceUnseen": {
			why: "a user of one namespace may not list Deployments of others", namespace: "shop",
			change: answers{"GET /apis/apps/v1/deployments": http.StatusForbidden},
			want:   []string{"ok kinds of orcon.tengu.io/v1alpha1\nok namespace shop is opted in"},
		},
		"NotOptedIn": {
			why: "the command that opts it in", namespace: "shop",
			change: answers{shop: `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop"}}`, namespaces: `{"kind":"NamespaceList","apiVersion":"v1","items":[]}`},
			want: []string{"FAIL namespace shop: not opted in: kubectl label namespace shop tengu-injector=enabled",
				"SKIP the webhook injects a pod: the webhook does not act in namespace shop, which has not opted in"},
		},
		"OwnNamespace": {
			why: "the label does not help in Orcon's own namespace", namespace: "shop",
			change: answers{shop: `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop","labels":{"app.kubernetes.io/part-of":"orcon"}}}`},
			want: []string{"FAIL namespace shop: Orcon itself runs in it, so that it never acts there: use another namespace",
				"SKIP the webhook injects a pod: the webhook never acts in namespace shop"},
		},
		"OwnByDeployment": {
			why: "Helm makes Orcon's namespace without a label", namespace: "shop",
			change: answers{
				shop: `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop"}}`,
				"GET /apis/apps/v1/namespaces/shop/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"namespace":"shop","name":"relations-controller"}}]}`,
			},
			want: []string{"FAIL namespace shop: Orcon itself runs in it"},
		},
		"SystemNamespace": {
			why: "the label does not help in a namespace of the cluster", namespace: "kube-public",
			change: answers{"GET /api/v1/namespaces/kube-public": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-public","labels":{"tengu-injector":"enabled"}}}`},
			want:   []string{"FAIL namespace kube-public: it is one of the cluster's own, so that Orcon never acts there: use another namespace"},
		},
		"Default": {
			why: "namespace default may opt in where Orcon runs elsewhere",
			change: answers{namespaces: `{"kind":"NamespaceList","apiVersion":"v1","items":[{"metadata":{"name":"default"}}]}`,
				"POST /api/v1/namespaces/default/pods": well[pods]},
			want: []string{"ok the webhook injects a pod (dry run in default)"},
		},
		"Outside": {
			why: "the webhook never acts in Orcon's own namespace",
			change: answers{namespaces: `{"kind":"NamespaceList","apiVersion":"v1","items":[{"metadata":{"name":"o","labels":{"app.kubernetes.io/part-of":"orcon"}}},{"metadata":{"name":"default"}},{"metadata":{"name":"shop"}}]}`,
				"GET /apis/apps/v1/namespaces/default/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"namespace":"default","name":"relations-controller"}}]}`},
			want: []string{"ok the webhook injects a pod (dry run in shop)"},
		},
		"NotListed": {
			why: "a user of one namespace may not list all", namespace: "shop",
			change: answers{shop: `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop"}}`, namespaces: http.StatusForbidden},
			want:   []string{"SKIP the webhook injects a pod: the webhook does not act in namespace shop"},
		},
		"NoNamespace": {why: "a typing mistake", namespace: "shop", change: answers{shop: http.StatusNotFound}, want: []string{
			"FAIL namespace shop: no such namespace", "SKIP the webhook injects a pod: there is no namespace shop",
		}},
		"Mode": {
			why: "a mode that does not exist counts as warn", namespace: "shop",
			change: answers{shop: `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop","labels":{"tengu-injector":"enabled","tengu.io/schema":"enforced"}}}`},
			want:   []string{`FAIL namespace shop: schema mode warn: label tengu.io/schema is "enforced" and counts as warn`},
		},
		"Waiting": {
			why: "an application that waits", namespace: "shop",
			change: answers{"GET /apis/orcon.tengu.io/v1alpha1/namespaces/shop/relatedapplications": `{"kind":"RelatedApplicationList","apiVersion":"orcon.tengu.io/v1alpha1","items":[{"metadata":{"name":"web"},
				"status":{"conditions":[{"type":"Ready","status":"False","message":"waits for db"}]}}]}`},
			want: []string{"FAIL application shop/web: waits for db (orcon status -n shop)"},
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
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
			if tc.without != "" {
				assert.NotContains(t, lines.String(), tc.without, tc.why)
			}
		})
	}
}
