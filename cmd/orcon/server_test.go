package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// serves is an API server that has nothing but one Secret, or the code of its refusal. It
// returns the arguments that name it.
func serves(t *testing.T, secret any, code int) []string {
	t.Helper()
	answers := map[string]string{
		"/api":                           `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":                          `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"authentication.k8s.io","versions":[{"groupVersion":"authentication.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"authentication.k8s.io/v1","version":"v1"}}]}`,
		"/api/v1":                        `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","kind":"Secret","namespaced":true,"verbs":["get"]},{"name":"namespaces","kind":"Namespace","verbs":["get"]}]}`,
		"/api/v1/namespaces/kube-system": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"u"}}`,
		"/apis/authentication.k8s.io/v1": `{"kind":"APIResourceList","groupVersion":"authentication.k8s.io/v1","resources":[{"name":"selfsubjectreviews","kind":"SelfSubjectReview","verbs":["create"]}]}`,
		"/apis/authentication.k8s.io/v1/selfsubjectreviews": `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"low"}}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, known := answers[r.URL.Path]
		switch {
		case known:
			_, _ = w.Write([]byte(answer))
		case r.URL.Path == "/api/v1/namespaces/shop/secrets/orcon-bundle-shop" && code == http.StatusOK:
			_ = json.NewEncoder(w).Encode(secret)
		default:
			reason := map[int]string{http.StatusForbidden: "Forbidden"}[code]
			status := code
			if reason == "" {
				status, reason = http.StatusNotFound, "NotFound"
			}
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, status)
		}
	}))
	t.Cleanup(server.Close)
	file := write(t, "config", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: %q}}]
contexts: [{name: a, context: {cluster: a, namespace: shop}}]
current-context: a
`, server.URL))
	return []string{"--kubeconfig", file}
}

// recorded is the Secret of a deployment whose second revision has failed, with changes.
func recorded(t *testing.T, changes ...func(*bundle.Record)) any {
	t.Helper()
	record := bundle.Record{Quarantined: []string{"b"}, Revisions: []bundle.Revision{
		{Number: 1, Content: 1, Healthy: true, ManifestDigest: "a", State: bundle.StateSuperseded},
		{Number: 2, Content: 2, ManifestDigest: "b", State: bundle.StateFailed},
		{Number: 3, Content: 1, Healthy: true, ManifestDigest: "a", State: bundle.StateSucceeded},
	}}
	for _, change := range changes {
		change(&record)
	}
	text, err := json.Marshal(map[string]any{"record": record})
	require.NoError(t, err)
	return map[string]any{
		"kind": "Secret", "apiVersion": "v1", "data": map[string]any{"data": text},
		"metadata": map[string]any{"namespace": "shop", "name": "orcon-bundle-shop", "resourceVersion": "1"},
	}
}

// What cannot be done is said with what can.
func TestCures(t *testing.T) {
	nothing, something, forbidden := serves(t, nil, http.StatusNotFound), serves(t, recorded(t), http.StatusOK), serves(t, nil, http.StatusForbidden)
	removing := serves(t, recorded(t, func(r *bundle.Record) { r.Removing = bundle.Removal{{}} }), http.StatusOK)
	folder := filepath.Dir(write(t, "a.yaml", twoObjects))
	lists := "nothing of that name is installed in namespace shop: orcon list shows all bundles, or kubectl get secrets -A --field-selector type=orcon.tengu.io/bundle"
	tests := map[string]struct {
		why    string
		server []string
		args   []string
		errs   string
	}{
		"NoName":          {"install needs one", nothing, []string{"install", folder}, `the flag --name is missing: for example --name shop`},
		"NoNamePlan":      {"plan says the same", nothing, []string{"plan", folder}, `the flag --name is missing`},
		"Rollback":        {"there is nothing to go back from", nothing, []string{"rollback", "shop"}, "cannot roll back shop/shop: " + lists},
		"History":         {"nor to list", nothing, []string{"history", "shop"}, "cannot list shop/shop: " + lists},
		"GoOn":            {"nor to go on with", nothing, []string{"install", "--resume", "shop"}, "cannot resume shop/shop: " + lists},
		"GoOnUninstall":   {"an uninstallation has its own command", removing, []string{"install", "--resume", "shop"}, "cannot resume shop/shop: its uninstallation was interrupted, or is under way in another process: to continue it: orcon uninstall shop -n shop"},
		"GoOnPolicy":      {"what is continued was planned before", nothing, []string{"install", "--resume", "shop", "--policy", "none.yaml"}, "cannot use --resume with --policy"},
		"RollbackFailed":  {"rollback does not try again", something, []string{"rollback", "shop", "2"}, "choose another one of orcon history shop -n shop, or retry this one from its source: orcon install SOURCE --name shop -n shop --retry"},
		"RollbackUnknown": {"which there are", something, []string{"rollback", "shop", "9"}, "the record does not have it: it has 3, 2, 1: orcon history shop -n shop"},
		"Approve":         {"nobody has made one", nothing, []string{"approve", "shop"}, "cannot approve shop/shop: no such BundleDeployment (orcon list shows what is installed)"},
		"ApproveOurs":     {"what install made waits for nobody", something, []string{"approve", "shop"}, "cannot approve shop/shop: it was installed by orcon install and is not a BundleDeployment: see orcon history shop -n shop"},
		"Pause":           {"nor is there anything to pause", something, []string{"pause", "shop"}, "cannot pause shop/shop: it was installed by orcon install"},
		"Resume":          {"nor is it paused", nothing, []string{"resume", "shop"}, "cannot resume shop/shop: no such BundleDeployment"},
		"HistorySecret":   {"reading needs one Secret, by its name", forbidden, []string{"history", "shop"}, "kubectl create role orcon-read-shop-low -n shop --verb=get --resource=secrets --resource-name=orcon-bundle-shop --dry-run=client"},
		"Diff":            {"nor to compare", nothing, []string{"diff", "shop"}, "cannot compare shop/shop: " + lists},
		"DiffUnknown":     {"which there are", something, []string{"diff", "shop", "--from", "2", "--to", "9"}, "its content is not stored: orcon history shop -n shop"},
		"DiffSecret":      {"and so does a comparison, at first", forbidden, []string{"diff", "shop"}, "kubectl create rolebinding orcon-read-shop-low -n shop --role=orcon-read-shop-low --user=low --dry-run=client"},
		"Secrets":         {"who installs also makes Secrets", forbidden, []string{"install", folder, "--name", "shop"}, "kubectl create rolebinding orcon-records-low -n shop --role=orcon-records-low --user=low --dry-run=client -o yaml | kubectl apply -f -\n"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, _, errs := call("", append(tc.args, tc.server...)...)
			assert.Equal(t, exitMisuse, code, tc.why)
			assert.Contains(t, errs, tc.errs, tc.why)
		})
	}
}

// What another process has done is shown by a command, before the user undoes it.
func TestMoved(t *testing.T) {
	d := &deployed{namespace: "shop", Engine: &engine.Engine{Owner: "shop/blog"}}
	require.EqualError(t, d.moved(fmt.Errorf("cannot continue: %w", cluster.ErrMoved)), "cannot continue: another process has changed this "+
		"deployment meanwhile: look at its history before you run this again: orcon history blog -n shop")
	require.ErrorIs(t, d.moved(engine.ErrTimeout), engine.ErrTimeout)
}

// A command line that lacks something is answered with one that does not.
func TestArguments(t *testing.T) {
	tests := map[string]struct {
		args []string
		errs string
	}{
		"Install":  {[]string{"install", "--name", "shop"}, "SOURCE is missing: example: orcon install deploy/ --name shop -n shop\n"},
		"Plan":     {[]string{"plan"}, "SOURCE is missing: example: orcon plan deploy/ --name shop -n shop\n"},
		"Record":   {[]string{"record"}, "RELATION is missing: example: orcon record 7 -n shop\n"},
		"Rollback": {[]string{"rollback"}, "NAME is missing"},
		"Pause":    {[]string{"pause"}, "NAME is missing: example: orcon pause shop -n shop\n"},
		"TooMany":  {[]string{"rollback", "shop", "3", "now"}, `unexpected argument "now": example: orcon rollback shop -n shop`},
		"Help":     {[]string{"help", "staus"}, `unknown command "staus" (did you mean status?)`},
		"Shell":    {[]string{"completion", "fsh"}, `unknown command "fsh"`},
		"Exclude":  {[]string{"record", "7", "--replay", "--follow"}, "cannot use --replay with --follow: leave one of them out: see orcon record --help"},
		"Resume":   {[]string{"install", "--resume", "shop", "--retry"}, "cannot use --resume with --retry: leave one of them out: see orcon install --help"},
		"Duration": {[]string{"approve", "shop", "--expires", "banana"}, `--expires "banana" is not a duration, such as 30s, 10m or 1h30m: see orcon approve --help`},
		"Negative": {[]string{"approve", "shop", "--expires", "-1h"}, "cannot approve: --expires must be a positive duration, such as 1h"},
		"Number":   {[]string{"diff", "shop", "--from", "two"}, `--from "two" is not a whole number: see orcon diff --help`},
		"Flag":     {[]string{"plan", "deploy/", "--nme", "shop"}, "unknown flag: --nme (did you mean --name?): see orcon plan --help"},
		"Short":    {[]string{"status", "-x"}, "see orcon status --help"},
		"None":     {[]string{"version", "now"}, `unexpected argument "now"`},
		"Leave":    {[]string{"leave", "now"}, `unexpected argument "now": example: orcon leave`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, _, errs := call("", tc.args...)
			assert.Equal(t, exitMisuse, code)
			assert.Contains(t, errs, tc.errs)
		})
	}
}
