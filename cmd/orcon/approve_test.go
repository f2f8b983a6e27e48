package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// asks are the answers of a cluster whose BundleDeployment shop waits for approval, with the record of
// its plan, to user "a/low".
func asks(t *testing.T, change map[string]string) []string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"record":   bundle.Record{Revisions: []bundle.Revision{{Number: 1, Content: 1}}},
		"contents": map[int][]string{1: {"orcon-bundle-shop-37c5"}},
	})
	require.NoError(t, err)
	all := map[string]string{
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[
			{"name":"orcon.tengu.io","versions":[{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}],"preferredVersion":{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}},
			{"name":"authentication.k8s.io","versions":[{"groupVersion":"authentication.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"authentication.k8s.io/v1","version":"v1"}}]}`,
		"/apis/authentication.k8s.io/v1":                    `{"kind":"APIResourceList","groupVersion":"authentication.k8s.io/v1","resources":[{"name":"selfsubjectreviews","kind":"SelfSubjectReview","verbs":["create"]}]}`,
		"/apis/authentication.k8s.io/v1/selfsubjectreviews": `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"a/low"}}}`,
		"/api/v1/namespaces/kube-system":                    "",
		group + "namespaces/shop/bundledeployments/shop": `{"metadata":{"namespace":"shop","name":"shop"},"spec":{"approval":{"mode":"Digest"}},
			"status":{"plan":{"digest":"d","revision":"shop-1"}}}`,
		"/api/v1/namespaces/shop/secrets/orcon-bundle-shop": `{"kind":"Secret","apiVersion":"v1","metadata":{"namespace":"shop","name":"orcon-bundle-shop","resourceVersion":"1"},
			"data":{"data":"` + base64.StdEncoding.EncodeToString(text) + `"}}`,
	}
	maps.Copy(all, change)
	return answering(t, all)
}

// A user who may not approve gets all commands that permit it, whichever permission is the first that
// is missing: after pasting them nothing else is refused.
func TestApproveForbidden(t *testing.T) {
	tests := map[string]struct{ why, path, says string }{
		"BundleDeployment": {"what is approved", group + "namespaces/shop/bundledeployments/shop", "cannot read BundleDeployment shop/shop: "},
		"Record":           {"where its plan is", "/api/v1/namespaces/shop/secrets/orcon-bundle-shop", "cannot read the record of shop/shop: "},
		"Plan":             {"a Secret whose name changes", "/api/v1/namespaces/shop/secrets/orcon-bundle-shop-37c5", "cannot read revision 1 of shop/shop: "},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, _, errs := call("", append([]string{"approve", "shop", "--yes"}, asks(t, map[string]string{tc.path: ""})...)...)
			assert.Equal(t, exitMisuse, code)
			assert.Contains(t, errs, tc.says, tc.why)
			for _, line := range []string{
				"kubectl create rolebinding orcon-approve-a-low -n shop --clusterrole=orcon-bundle-approve --user=a/low --dry-run=client -o yaml | kubectl apply -f -\n",
				"kubectl create role orcon-approve-secrets -n shop --verb=get --resource=secrets --dry-run=client -o yaml | kubectl apply -f -\n",
				"kubectl create rolebinding orcon-approve-secrets-a-low -n shop --role=orcon-approve-secrets --user=a/low --dry-run=client -o yaml | kubectl apply -f -\n",
			} {
				assert.Contains(t, errs, line, tc.why)
			}
			assert.NotContains(t, errs, "--resource-name", "the next revision has other Secrets")
		})
	}
}

// What is shown for approval is what the controller stored: content of the record that no BundleRevision of the
// deployment confirms is another's, whichever digest it names (TRUST.md R2).
func TestApproveShowsWhatIsApproved(t *testing.T) {
	text, err := json.Marshal(bundle.Plan{Digest: "d", Actions: []bundle.Action{{Verb: bundle.Create, ID: bundle.ID{Kind: "ConfigMap", Namespace: "shop", Name: "page"}}}})
	require.NoError(t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	require.NoError(t, errors.Join(err, w.Close()))
	sum := sha256.Sum256(packed.Bytes())
	name := "orcon-bundle-shop-" + hex.EncodeToString(sum[:16])
	record, err := json.Marshal(map[string]any{
		"record": bundle.Record{Revisions: []bundle.Revision{{Number: 1, Content: 1}}}, "contents": map[int][]string{1: {name}},
	})
	require.NoError(t, err)
	revision := func(owner, contents, digest string) string {
		return `{"metadata":{"name":"shop-1","namespace":"shop","ownerReferences":[{"apiVersion":"orcon.tengu.io/v1alpha1","kind":"BundleDeployment","name":"shop","uid":"` +
			owner + `","controller":true}]},"spec":{"deployment":"shop","revision":1,"planDigest":"` + digest + `","contents":["` + contents + `"]}}`
	}
	const path, differs, none = group + "namespaces/shop/bundlerevisions/shop-1", "differs from BundleRevision shop-1", "none"
	tests := map[string]struct{ why, revision, says string }{
		"Stored":       {"as the controller stored it", revision("u", name, "d"), ""},
		"Content":      {"who may write Secrets put another content there, under the digest that waits", revision("u", "orcon-bundle-shop-other", "d"), differs},
		"Digest":       {"the revision is of another plan", revision("u", name, "e"), differs},
		"OfOthers":     {"it is another deployment's", revision("v", name, "d"), differs},
		"NotThere":     {"it is not written yet, or no more", none, differs},
		"NotPermitted": {"who approves must be able to read it", "", "--clusterrole=orcon-bundle-approve"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			answers := map[string]string{
				"/apis/orcon.tengu.io/v1alpha1": strings.Replace(kindsOf, `"resources":[`, `"resources":[
					{"name":"approvals","kind":"Approval","namespaced":true},{"name":"bundlerevisions","kind":"BundleRevision","namespaced":true},`, 1),
				group + "namespaces/shop/bundledeployments/shop": `{"metadata":{"namespace":"shop","name":"shop","uid":"u"},"spec":{"approval":{"mode":"Digest"}},
					"status":{"plan":{"digest":"d","revision":"shop-1"}}}`,
				group + "namespaces/shop/approvals": `{"metadata":{"namespace":"shop","name":"shop-x"},"spec":{"planDigest":"d","author":"a/low"}}`,
				"/api/v1/namespaces/shop/secrets/orcon-bundle-shop": `{"kind":"Secret","apiVersion":"v1","metadata":{"namespace":"shop","name":"orcon-bundle-shop","resourceVersion":"1"},
					"data":{"data":"` + base64.StdEncoding.EncodeToString(record) + `"}}`,
				"/api/v1/namespaces/shop/secrets/" + name: `{"kind":"Secret","apiVersion":"v1","metadata":{"namespace":"shop","name":"` + name + `"},
					"data":{"data":"` + base64.StdEncoding.EncodeToString(packed.Bytes()) + `"}}`,
			}
			if tc.revision != none {
				answers[path] = tc.revision
			}
			code, out, errs := call("", append([]string{"approve", "shop", "--yes"}, asks(t, answers)...)...)
			if tc.says == "" {
				require.Zero(t, code, errs)
				assert.Contains(t, out, "create   ConfigMap shop/page")
				return
			}
			assert.NotZero(t, code, tc.why)
			assert.NotContains(t, out, "page", tc.why)
			assert.Contains(t, errs, tc.says, tc.why)
		})
	}
}
