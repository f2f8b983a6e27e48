package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The API server lists its kinds for each user whom it knows. Who has no credentials, as where the kubeconfig lost them,
// reads that, and not that a namespace is the cause.
func TestNoCredentials(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			_, _ = w.Write([]byte(`{"gitVersion":"v1.36.3"}`))
			return
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"forbidden: User \"system:anonymous\" `+
			`cannot get path %q","reason":"Forbidden","details":{},"code":403}`, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	config := write(t, "config", "{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: \""+server.URL+
		"\"}}], contexts: [{name: a, context: {cluster: a, namespace: shop}}]}")
	for name, args := range map[string][]string{
		"Status": {"status"}, "All": {"status", "-A"}, "Ends": {"ends"}, "Check": {"check"}, "Fleet": {"fleet", "status"}, "Record": {"record", "x"},
		"Pause": {"pause", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := call("", append(args, "--kubeconfig", config)...)
			assert.Equal(t, exitMisuse, code)
			assert.Empty(t, out)
			assert.Contains(t, errs, "\nThe API server lists no kinds for you, as for a user that it does not know: log in again, or choose another context "+
				"with --context (kubectl config get-contexts).")
			assert.NotContains(t, errs, "you may not read")
		})
	}
}

// The commands that permit a user something leave what they have given another user: a Role and a binding of the user's
// own, written so that the command also works where they are there.
func TestCommandsOfRightsAreForOneUser(t *testing.T) {
	forbidden := serves(t, nil, http.StatusForbidden)
	folder := filepath.Dir(write(t, "a.yaml", twoObjects))
	for _, args := range [][]string{{"history", "shop"}, {"diff", "shop"}, {"install", folder, "--name", "shop"}, {"uninstall", "shop"}} {
		_, _, errs := call("", append(args, forbidden...)...)
		var commands []string
		for line := range strings.Lines(errs) {
			if strings.HasPrefix(line, "kubectl create ") {
				commands = append(commands, line)
			}
		}
		assert.Len(t, commands, 2, errs)
		for _, command := range commands {
			assert.Regexp(t, `^kubectl create (role|rolebinding) orcon-[a-z-]+-low `, command)
			assert.Contains(t, command, "--dry-run=client -o yaml | kubectl apply -f -")
		}
	}
}

// The answers of an API server that knows the user as low.
const (
	selfReview = `{"kind":"APIResourceList","groupVersion":"authentication.k8s.io/v1","resources":[{"name":"selfsubjectreviews","kind":"SelfSubjectReview","verbs":["create"]}]}`
	whoIsLow   = `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"low"}}}`
)

// A plan that compares nothing, since the user may read nothing, says so, also with --quiet: it would pass for one
// without changes.
func TestQuietPlanTellsWhatItMayNotRead(t *testing.T) {
	server := answering(t, map[string]string{
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"authorization.k8s.io","versions":[{"groupVersion":"authorization.k8s.io/v1","version":"v1"}]}]}`,
		"/apis/authorization.k8s.io/v1": `{"kind":"APIResourceList","groupVersion":"authorization.k8s.io/v1","resources":[
			{"name":"selfsubjectaccessreviews","kind":"SelfSubjectAccessReview","verbs":["create"]}]}`,
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","kind":"Secret","namespaced":true},
			{"name":"configmaps","kind":"ConfigMap","namespaced":true},{"name":"namespaces","kind":"Namespace"}]}`,
		"/api/v1/namespaces/kube-system":            `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"u"}}`,
		"/api/v1/namespaces/shop":                   `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop","uid":"v"}}`,
		"/api/v1/namespaces/shop/configmaps/colour": "",
	})
	folder := filepath.Dir(write(t, "a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: colour}\n"))
	for _, quiet := range []string{"--quiet=false", "--quiet"} {
		code, out, errs := call("", append([]string{"plan", folder, "--name", "shop", quiet}, server...)...)
		assert.Zero(t, code, errs)
		assert.Contains(t, out, "nothing to change in 1 object")
		assert.Contains(t, errs, "note: not compared, since you may not read ConfigMap shop/colour\n", quiet)
	}
}

// The commands that permit a user something can be pasted for each name that a certificate or an identity provider gives:
// a shell reads it as one word, and runs none of it.
func TestCommandsOfRightsCanBePasted(t *testing.T) {
	const user = "CN=Jane O'Hara; echo $HOME, Ops"
	who := map[string]string{
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[
			{"name":"orcon.tengu.io","versions":[{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}]},
			{"name":"authentication.k8s.io","versions":[{"groupVersion":"authentication.k8s.io/v1","version":"v1"}]}]}`,
		"/apis/authentication.k8s.io/v1":                    selfReview,
		"/apis/authentication.k8s.io/v1/selfsubjectreviews": strings.Replace(whoIsLow, "low", user, 1),
		"/apis/orcon.tengu.io/v1alpha1": strings.Replace(kindsOf, `"resources":[`,
			`"resources":[{"name":"databags","kind":"Databag","namespaced":true},`, 1),
		group + "namespaces/shop/relations":                 listOf("Relation", `{"metadata":{"namespace":"shop","name":"web-db"},"state":{"id":7}}`),
		group + "namespaces/shop/databags":                  "",
		group + "namespaces/shop/bundledeployments/shop":    "",
		group + "interfaces":                                "",
		"/api/v1/namespaces/kube-system":                    `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"u"}}`,
		"/api/v1/namespaces/shop/secrets/orcon-bundle-shop": "",
	}
	// A shell that prints the words of kubectl, each in brackets.
	const shell = `kubectl() { printf '[%s]' "$@" >&2; cat >/dev/null; }; `
	for name, args := range map[string][]string{
		"Record": {"record", "7"}, "History": {"history", "shop"}, "Approve": {"approve", "shop", "--yes"}, "Interfaces": {"interfaces", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, errs := call("", append(args, answering(t, who)...)...)
			pasted := ""
			for line := range strings.Lines(errs) {
				if strings.HasPrefix(line, "kubectl create ") {
					pasted += line
				}
			}
			words, err := exec.CommandContext(t.Context(), "sh", "-c", shell+pasted).CombinedOutput()
			assert.NoError(t, err, pasted)
			assert.Contains(t, string(words), "[--user="+user+"]", pasted)
		})
	}
}
