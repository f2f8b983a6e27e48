package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// kindsOf is the discovery document of Orcon's kinds.
const kindsOf = `{"kind":"APIResourceList","groupVersion":"orcon.tengu.io/v1alpha1","resources":[
	{"name":"relatedapplications","kind":"RelatedApplication","namespaced":true},{"name":"relations","kind":"Relation","namespaced":true},
	{"name":"offers","kind":"Offer","namespaced":true},
	{"name":"bundledeployments","kind":"BundleDeployment","namespaced":true},{"name":"interfaces","kind":"Interface"}]}`

// answering is an API server that has Orcon's kinds and answers GET requests by path; what it does
// not know is not there, and a path with "" is forbidden. It returns the arguments that name it.
func answering(t *testing.T, answers map[string]string) []string {
	t.Helper()
	all := map[string]string{
		"/version": `{"gitVersion":"v1.35.1"}`,
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"orcon.tengu.io","versions":[{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}],
			"preferredVersion":{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}}]}`,
		"/api/v1":                       `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","kind":"Secret","namespaced":true},{"name":"namespaces","kind":"Namespace"},{"name":"pods","kind":"Pod","namespaced":true}]}`,
		"/apis/orcon.tengu.io/v1alpha1": kindsOf,
		"/apis/apps/v1":                 `{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"deployments","kind":"Deployment","namespaced":true}]}`,
	}
	maps.Copy(all, answers)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, known := all[r.URL.Path]
		code, reason := http.StatusNotFound, "NotFound"
		switch {
		case known && answer != "":
			_, _ = w.Write([]byte(answer))
			return
		case known:
			code, reason = http.StatusForbidden, "Forbidden"
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
	}))
	t.Cleanup(server.Close)
	file := write(t, "config", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a,
clusters: [{name: a, cluster: {server: %q}}], contexts: [{name: a, context: {cluster: a, namespace: shop}}]}`, server.URL))
	return []string{"--kubeconfig", file}
}

// listOf writes a list of a kind.
func listOf(kind, items string) string {
	return `{"kind":"` + kind + `List","apiVersion":"orcon.tengu.io/v1alpha1","items":[` + items + `]}`
}

const (
	readyNow  = `"conditions":[{"type":"Ready","status":"True","reason":"Complete","message":"all relations are ready"}]`
	stalled   = `"conditions":[{"type":"Ready","status":"False","reason":"Failed","message":"revision 2 failed"},{"type":"Stalled","status":"True"}]`
	waitsOnDB = `"conditions":[{"type":"Ready","status":"False","reason":"WaitingForRelations","message":"waits for 1 endpoint"}],
		"waits":[{"endpoint":"cache","reason":"NoRelationDeclared","message":"no provider is named for endpoint cache: add cache=cache:cache to tengu.io/relations"}]`
	group = "/apis/orcon.tengu.io/v1alpha1/"
)

func TestStatus(t *testing.T) {
	web := `{"metadata":{"namespace":"shop","name":"web"},"status":{` + waitsOnDB + `}}`
	db := `{"metadata":{"namespace":"shop","name":"db"},"status":{` + readyNow + `}}`
	related := `{"metadata":{"namespace":"shop","name":"web-db"},"spec":{"requirer":{"application":"web","endpoint":"store"},"provider":{"application":"db","endpoint":"main"},"interface":"pg"},"state":{"id":7},"status":{` + readyNow + `}}`
	failing := `{"metadata":{"namespace":"shop","name":"shop"},"status":{"activeRevision":1,` + stalled + `}}`
	const (
		approval = `{"metadata":{"namespace":"shop","name":"shop"},"status":{"conditions":[
			{"type":"Ready","status":"False","reason":"WaitingForApproval","message":"see condition Approved"},
			{"type":"Stalled","status":"True","reason":"WaitingForApproval","message":"see condition Approved"},
			{"type":"Approved","status":"False","reason":"WaitingForApproval","message":"plan fd41 waits for approval: orcon approve shop -n shop"}]}}`
		leftOut = `{"metadata":{"namespace":"shop","name":"dup"},"status":{"conditions":[
			{"type":"Ready","status":"True","reason":"LeftOut","message":"every required relation is complete, but see condition LeftOut"},
			{"type":"LeftOut","status":"True","reason":"NameTaken","message":"Deployment/dup is ignored: rename it"}]}}`
		handlerFails = `{"metadata":{"namespace":"shop","name":"shop"},"status":{"conditions":[
			{"type":"Ready","status":"False","reason":"HandlerFailed","message":"a handler fails: see condition HandlerFailed"},
			{"type":"Reconciling","status":"True","reason":"HandlerFailed","message":"a handler fails: see condition HandlerFailed"},
			{"type":"HandlerFailed","status":"True","reason":"HandlerFailed","message":"unit shop/0: exit code 3: boom"}]}}`
		optedOut = `{"metadata":{"namespace":"shop","name":"web"},"status":{"conditions":[
			{"type":"Ready","status":"False","reason":"OptedOut","message":"the pods opt out…"},
			{"type":"Stalled","status":"True","reason":"OptedOut","message":"the pods opt out by injector.tengu.io/inject: false"}],
			"waits":[{"endpoint":"cache","reason":"NoRelationDeclared","message":"no provider is named"}]}}`
	)
	const offer = `{"metadata":{"namespace":"shop","name":"share"},"spec":{"application":"db","endpoint":"min","consumers":["web","api"]},"status":{"conditions":[
		{"type":"Ready","status":"False","reason":"NotProvided","message":"db has no endpoint min: it provides main"}]}}`
	one := func(app, relation, bundle string) []string {
		return answering(t, map[string]string{
			group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", app), group + "namespaces/shop/relations": listOf("Relation", relation),
			group + "namespaces/shop/bundledeployments": listOf("BundleDeployment", bundle),
			group + "namespaces/shop/offers":            listOf("Offer", ""), group + "offers": listOf("Offer", ""),
			group + "relatedapplications": listOf("RelatedApplication", app), group + "relations": listOf("Relation", relation), group + "bundledeployments": "",
			"/api/v1/namespaces/shop": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop"}}`,
		})
	}
	tests := map[string]struct {
		why       string
		args      []string
		code      int
		out, errs string
	}{
		"Ready": {"everything is ready", append([]string{"status"}, one(db, related, "")...), 0, "KIND          NAME     STATE   DETAIL\napplication   db       ready   \nrelation      web-db   ready   7: web:store → db:main\n", ""},
		"Waiting": {
			"who waits, for what, and what helps", append([]string{"status"}, one(web+","+db, "", "")...), exitFailed,
			"application   web    waiting   waits for cache\napplication   db     ready     \n\napplication web: waiting\n  no provider is named for endpoint cache: add cache=cache:cache to tengu.io/relations\n", "",
		},
		"Crashes": {
			"an application whose relations are complete may have pods that do not run", append([]string{"status"}, answering(t, map[string]string{
				group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", `{"metadata":{"namespace":"shop","name":"db"},"state":{"units":[{"number":0,"pod":"db-a"},{"number":1,"pod":"db-b"}]},"status":{`+readyNow+`}}`),
				group + "namespaces/shop/relations":           listOf("Relation", ""), group + "namespaces/shop/offers": listOf("Offer", ""), group + "namespaces/shop/bundledeployments": listOf("BundleDeployment", ""),
				"/api/v1/namespaces/shop/pods": `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"namespace":"shop","name":"db-a"},"status":{"containerStatuses":[
					{"name":"app","state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}]}},{"metadata":{"namespace":"shop","name":"other"},"status":{"containerStatuses":[
					{"name":"app","state":{"terminated":{"exitCode":1,"reason":"Error"}}}]}}]}`,
			})...), 0,
			"db     ready   trouble with 1 of 2 pods\n\napplication db: ready\n  container app of pod db-a exited with code 1 (Error); see kubectl -n shop logs db-a -c app\n", "",
		},
		"SameReason": {
			"a reason that two endpoints share is printed once", append([]string{"status"}, one(strings.Replace(web, `"waits":[`, `"waits":[{"endpoint":"queue",`+
				`"reason":"NoApplication","message":"no provider is named for endpoint cache: add cache=cache:cache to tengu.io/relations"},`, 1)+","+web, "", "")...), exitFailed,
			"application web: waiting\n  no provider is named for endpoint cache: add cache=cache:cache to tengu.io/relations\n\napplication web: waiting\n", "",
		},
		"Offer": {
			"an Offer of what is not there", append([]string{"status"}, answering(t, map[string]string{
				group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", ""), group + "namespaces/shop/relations": listOf("Relation", ""),
				group + "namespaces/shop/offers": listOf("Offer", offer), group + "namespaces/shop/bundledeployments": listOf("BundleDeployment", ""),
			})...), exitFailed,
			"offer   share   waiting   db:min for web, api\n\noffer share: waiting\n  db has no endpoint min: it provides main\n", "",
		},
		"OfferToNobody": {
			"consumers that are no namespaces", append([]string{"status"}, answering(t, map[string]string{
				group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", ""), group + "namespaces/shop/relations": listOf("Relation", ""),
				group + "namespaces/shop/offers": listOf("Offer", offer), group + "namespaces/shop/bundledeployments": listOf("BundleDeployment", ""),
				"/api/v1/namespaces": `{"kind":"NamespaceList","apiVersion":"v1","items":[{"metadata":{"name":"webs"}},{"metadata":{"name":"shop"}}]}`,
			})...), exitFailed,
			"db:min for web (no such namespace; did you mean webs?), api (no such namespace)\n", "",
		},
		"Deleted": {
			"a relation whose deletion no controller has seen", append([]string{"status"}, one(db, strings.Replace(related, `"metadata":{`,
				`"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z",`, 1), "")...), exitFailed,
			"relation web-db: waiting\n  it is being deleted\n", "",
		},
		"NotInstalled": {
			"after orcon leave states are old", append([]string{"status"}, answering(t, map[string]string{
				group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", db), group + "namespaces/shop/relations": listOf("Relation", ""),
				group + "namespaces/shop/offers": listOf("Offer", ""), group + "namespaces/shop/bundledeployments": listOf("BundleDeployment", ""),
				"/apis/apps/v1/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`,
			})...), 0,
			"application   db     ready", "note: no relations controller is installed, so that the states of applications, relations and Offers may be old",
		},
		"Stopped": {
			"what no controller looks at may be old", append([]string{"status"}, answering(t, map[string]string{
				group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", db), group + "namespaces/shop/relations": listOf("Relation", ""),
				group + "namespaces/shop/offers": listOf("Offer", ""), group + "namespaces/shop/bundledeployments": listOf("BundleDeployment", ""),
				"/apis/apps/v1/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"namespace":"orcon-system","name":"relations-controller","labels":{"app.kubernetes.io/name":"relations-controller"}}}]}`,
			})...), 0,
			"application   db     ready", "note: Deployment relations-controller of namespace orcon-system has no ready replica, so that the states of applications, " +
				"relations and Offers may be old: orcon check shows the cause\n",
		},
		"Failed": {"a bundle needs a person", append([]string{"status"}, one("", "", failing)...), exitFailed, "bundle   shop   failed   revision 1\n\nbundle shop: failed\n  revision 2 failed\n", ""},
		"Problem": {
			"a problem beside Ready needs a person, and its own message is shown", append([]string{"status"}, one(leftOut, "", "")...), exitFailed,
			"application   dup    failed   \n\napplication dup: failed\n  Deployment/dup is ignored: rename it\n", "",
		},
		"ReferenceTooMany": {
			"ready, and one reference leads nowhere", append([]string{"status"}, one(`{"metadata":{"namespace":"shop","name":"web"},"status":{"conditions":[
			{"type":"Ready","status":"True","reason":"NoApplication","message":"every required relation is complete, but no Service or workload named cachee"}]}}`, "", "")...), 0,
			"application   web    ready   every required relation is complete, but no Service or workload named cachee\n\n" +
				"application web: ready\n  every required relation is complete, but no Service or workload named cachee\n", "",
		},
		"Whole": {
			"the whole message, which Ready shortens or only points to", append([]string{"status"}, one(handlerFails, "", "")...), exitFailed,
			"\napplication shop: failed\n  unit shop/0: exit code 3: boom\n", "",
		},
		"Referred": {
			"a condition that another one names is shown itself", append([]string{"status"}, one("", "", approval)...), exitFailed,
			"bundle shop: waiting\n  plan fd41 waits for approval: orcon approve shop -n shop\n", "",
		},
		"Controller": {
			"a bundle that no controller has seen", append([]string{"status"}, one("", "", `{"metadata":{"namespace":"shop","name":"new"}}`)...), exitFailed,
			"if none is installed: orcon install builtin:bundle-controller", "",
		},
		"OptedOut": {
			"an application that waits for another reason than relations", append([]string{"status"}, one(optedOut, "", "")...), exitFailed,
			"\napplication web: failed\n  the pods opt out by injector.tengu.io/inject: false\n", "",
		},
		"Unknown": {"nothing was seen of it yet", append([]string{"status"}, one(`{"metadata":{"namespace":"shop","name":"new"}}`, "", "")...), exitFailed, "the controller has not seen it yet", ""},
		"All":     {"every namespace, without bundles that may not be read", append([]string{"status", "-A"}, one(web, "", "")...), exitFailed, "shop        application   web    waiting   waits for cache\n\napplication shop/web: waiting\n", "note: you may not list BundleDeployments, which are not shown\n"},
		"NoPods": {"a note also with -q: ready would pass for works", append([]string{"status", "-q"}, answering(t, map[string]string{
			group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", db), group + "namespaces/shop/relations": listOf("Relation", ""),
			group + "namespaces/shop/offers": listOf("Offer", ""), group + "namespaces/shop/bundledeployments": listOf("BundleDeployment", ""), "/api/v1/namespaces/shop/pods": "",
		})...), 0, "db     ready", "note: you may not list Pods, which are not shown\n"},
		"JSON":       {"for programs", append([]string{"status", "-o", "json"}, one(web, "", "")...), exitFailed, `"state": "waiting"`, ""},
		"YAML":       {"as well", append([]string{"status", "-o", "yaml"}, one(db, "", "")...), 0, "- kind: application\n", ""},
		"Unlabelled": {"the label is missing", append([]string{"status"}, one("", "", "")...), 0, "", "namespace shop has not opted in: kubectl label namespace shop tengu-injector=enabled"},
		"OrconsOwn": {"a label would not help where Orcon itself runs", append([]string{"status"}, answering(t, map[string]string{
			group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", ""), group + "namespaces/shop/relations": listOf("Relation", ""),
			group + "namespaces/shop/offers": listOf("Offer", ""), group + "namespaces/shop/bundledeployments": listOf("BundleDeployment", ""),
			"/api/v1/namespaces/shop": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop","labels":{"app.kubernetes.io/part-of":"orcon"}}}`,
		})...), 0, "", "namespace shop has no relations: Orcon itself runs in it, so that it never acts there"},
		"Empty": {"nothing declares anything there", append([]string{"status"}, one("", "", "")...), 0, "", "namespace shop has no applications with relations and no BundleDeployments (orcon status -A"},
		"NoNamespace": {"a typo in its name", append([]string{"status", "-n", "shpo"}, answering(t, map[string]string{
			group + "namespaces/shpo/relatedapplications": listOf("RelatedApplication", ""), group + "namespaces/shpo/relations": listOf("Relation", ""),
			group + "namespaces/shpo/offers": listOf("Offer", ""), group + "namespaces/shpo/bundledeployments": listOf("BundleDeployment", ""),
		})...), exitMisuse, "", "there is no namespace shpo: use -A"},
		"Forbidden": {"the user may not read it", append([]string{"status"}, answering(t, map[string]string{group + "namespaces/shop/relatedapplications": ""})...), exitMisuse, "", "you may not read namespace shop: use -n"},
		"EmptyJSON": {"an empty list is one", append([]string{"status", "-o", "json"}, one("", "", "")...), 0, "[]\n", ""},
		"KindGone": {"its definition was just deleted", append([]string{"status"}, answering(t, map[string]string{
			group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", ""),
		})...), exitMisuse, "", "or one of its definitions is missing: orcon check"},
		"NoOrcon": {"what to install", append([]string{"status"}, answering(t, map[string]string{"/apis": `{"kind":"APIGroupList","groups":[]}`, "/apis/orcon.tengu.io/v1alpha1": `{"kind":"APIResourceList","groupVersion":"orcon.tengu.io/v1alpha1","resources":[]}`})...), exitMisuse, "", "Orcon is not installed in this cluster, or one of its definitions is missing: orcon check"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call("", tc.args...)
			assert.Equal(t, tc.code, code, errs)
			assert.Contains(t, out, tc.out, tc.why)
			assert.Contains(t, errs, tc.errs, tc.why)
		})
	}
}

// Bundles of both ways are listed, and one that is in another namespace is found.
func TestList(t *testing.T) {
	text, err := json.Marshal(map[string]any{"record": bundle.Record{Revisions: []bundle.Revision{{Number: 3, State: bundle.StateFailed, Message: "web is not healthy"}}}})
	require.NoError(t, err)
	secrets := `{"kind":"SecretList","apiVersion":"v1","items":[{"type":"orcon.tengu.io/bundle","metadata":{"namespace":"prod","name":"orcon-bundle-blog"},"data":{"data":"` + base64.StdEncoding.EncodeToString(text) + `"}}]}`
	deployments := listOf("BundleDeployment", `{"metadata":{"namespace":"shop","name":"shop"},"status":{"activeRevision":2,`+readyNow+`}}`)
	server := answering(t, map[string]string{group + "bundledeployments": deployments, "/api/v1/secrets": secrets})
	code, out, errs := call("", append([]string{"list"}, server...)...)
	require.Zero(t, code, errs)
	assert.Equal(t, `NAMESPACE   NAME   BY                 REVISION   STATE    MESSAGE
prod        blog   orcon install      3          Failed   web is not healthy
shop        shop   BundleDeployment   2          ready    all relations are ready
`, out)
	_, out, _ = call("", append([]string{"ls", "-o", "json"}, server...)...)
	assert.Contains(t, out, `"by": "orcon install"`)

	code, _, errs = call("", append([]string{"pause", "blog"}, server...)...)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "; blog is in namespace prod (orcon install): use -n prod")

	nowhere := answering(t, map[string]string{
		group + "namespaces/shpo/bundledeployments": listOf("BundleDeployment", ""), "/api/v1/namespaces/shpo/secrets": `{"kind":"SecretList","apiVersion":"v1","items":[]}`,
	})
	code, _, errs = call("", append([]string{"list", "-n", "shpo"}, nowhere...)...)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "there is no namespace shpo: use -A for every namespace")

	for _, quiet := range []string{"--quiet=false", "--quiet"} {
		code, out, errs = call("", append([]string{"list", quiet}, answering(t, map[string]string{group + "bundledeployments": deployments, "/api/v1/secrets": ""})...)...)
		assert.Zero(t, code)
		assert.Contains(t, out, "shop        shop")
		assert.Contains(t, errs, "note: you may not list Secrets, so the bundles of orcon install are not shown", quiet)
	}
}

// A record that cannot be read hides no other bundle. Any user who may write Secrets in a namespace can make one.
func TestListShowsOthersBesideAnUnreadableRecord(t *testing.T) {
	text, err := json.Marshal(map[string]any{"record": bundle.Record{Revisions: []bundle.Revision{{Number: 3, State: bundle.StateSucceeded}}}})
	require.NoError(t, err)
	record := func(namespace, name, data string) string {
		return `{"type":"orcon.tengu.io/bundle","metadata":{"namespace":"` + namespace + `","name":"orcon-bundle-` + name + `"},"data":{"data":"` +
			base64.StdEncoding.EncodeToString([]byte(data)) + `"}}`
	}
	server := answering(t, map[string]string{
		group + "bundledeployments": listOf("BundleDeployment", ""),
		"/api/v1/secrets":           `{"kind":"SecretList","apiVersion":"v1","items":[` + record("lab", "mine", "none") + "," + record("prod", "blog", string(text)) + `]}`,
	})
	code, out, errs := call("", append([]string{"list"}, server...)...)
	require.Zero(t, code, errs)
	assert.Regexp(t, `(?m)^prod +blog +orcon install +3 +Succeeded`, out)
	assert.Regexp(t, `(?m)^lab +mine +orcon install +0 +Unreadable +Secret orcon-bundle-mine, its record, cannot be read: `, out)

	_, _, errs = call("", append([]string{"pause", "blog"}, server...)...)
	assert.Contains(t, errs, "; blog is in namespace prod (orcon install): use -n prod")
}

// Where four eyes are required, the user who requested the change cannot approve it: the Approval would
// have no effect.
func TestApproveOwnChange(t *testing.T) {
	asked := `{"metadata":{"namespace":"shop","name":"shop","annotations":{"orcon.tengu.io/requester":"low"}},"spec":{"approval":{"mode":"Digest","selfApproval":"Forbid"}},
		"status":{"plan":{"digest":"d","revision":"shop-1"}}}`
	server := answering(t, map[string]string{
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[
			{"name":"orcon.tengu.io","versions":[{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}],"preferredVersion":{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}},
			{"name":"authentication.k8s.io","versions":[{"groupVersion":"authentication.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"authentication.k8s.io/v1","version":"v1"}}]}`,
		"/apis/authentication.k8s.io/v1":                    `{"kind":"APIResourceList","groupVersion":"authentication.k8s.io/v1","resources":[{"name":"selfsubjectreviews","kind":"SelfSubjectReview","verbs":["create"]}]}`,
		"/apis/authentication.k8s.io/v1/selfsubjectreviews": `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"low"}}}`,
		group + "namespaces/shop/bundledeployments/shop":    asked,
	})
	code, _, errs := call("", append([]string{"approve", "shop", "--yes"}, server...)...)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "cannot approve shop/shop: spec.approval.selfApproval is Forbid, and low requested the change")
}

// Shells complete names from the cluster, and interfaces without one.
func TestCompletion(t *testing.T) {
	server := answering(t, map[string]string{
		"/api/v1/namespaces":                        `{"kind":"NamespaceList","apiVersion":"v1","items":[{"metadata":{"name":"prod"}},{"metadata":{"name":"shop"}}]}`,
		group + "namespaces/shop/relations":         listOf("Relation", `{"metadata":{"name":"web-db"}}`),
		group + "namespaces/shop/bundledeployments": listOf("BundleDeployment", `{"metadata":{"name":"blog"}}`),
	})
	for want, words := range map[string][]string{
		"prod\nshop\n": {"status", "-n", ""}, "web-db\n": {"record", ""}, "blog\n": {"pause", ""}, "redis\n": {"interfaces", ""}, "a\n": {"check", "--context", ""}, "table\njson\nyaml\n": {"list", "-o", ""},
		"Prevent\nAdoptUnowned\nTake\n": {"install", "--conflicts", ""},
	} {
		line := append([]string{"__complete", words[0]}, append(server, words[1:]...)...)
		code, out, errs := call("", line...)
		require.Zero(t, code, errs)
		assert.Contains(t, out, want, words)
	}
}

// A cluster that does not answer keeps no shell waiting.
func TestCompletionOfACluster(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	assert.Empty(t, soon(func() []string {
		<-release
		return []string{"late"}
	}))
	assert.Equal(t, []string{"now"}, soon(func() []string { return []string{"now"} }))
}
