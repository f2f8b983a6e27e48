package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
