package bundle_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/webhook/bundle"
)

// ask sends a deployment to be admitted for alice, over what it was before if that is not empty.
func ask(t *testing.T, object, before string) *admissionv1.AdmissionResponse {
	t.Helper()
	request := map[string]any{
		"uid": "u", "kind": map[string]any{"kind": "BundleDeployment"}, "operation": "CREATE", "namespace": "shop",
		"userInfo": map[string]any{"username": "alice", "groups": []string{"people"}, "extra": map[string]any{"a": []string{"b"}}},
		"object":   json.RawMessage(object), "oldObject": nil,
	}
	if before != "" {
		request["operation"], request["oldObject"] = "UPDATE", json.RawMessage(before)
	}
	body, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, "/bundle", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	bundle.Handler{}.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var review admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &review))
	return review.Response
}

func TestHandler(t *testing.T) {
	deployment := func(annotations, reference string) string {
		return `{"apiVersion":"orcon.tengu.io/v1alpha1","kind":"BundleDeployment","metadata":{"name":"shop"` + annotations + `},"spec":{"sources":[{"reference":"` + reference + `"}]}}`
	}
	by := func(user string) string { return `,"annotations":{"orcon.tengu.io/requester":"` + user + `"}` }
	const right, wrong = "configmaps:shop", "oci://registry.example.org/shop:latest"
	tests := map[string]struct {
		why            string
		object, before string
		refused, patch string
	}{
		"New":       {why: "who asks is noted", object: deployment("", right), patch: `[{"op":"add","path":"/metadata/annotations","value":{"orcon.tengu.io/requester":"alice"}}]`},
		"Noted":     {why: "it says so already", object: deployment(by("alice"), right)},
		"Forged":    {why: "nobody asks for somebody else", object: deployment(by("bob"), right), patch: `[{"op":"add","path":"/metadata/annotations/orcon.tengu.io~1requester","value":"alice"}]`},
		"Member":    {why: "the requester of its set", object: deployment(`,"labels":{"orcon.tengu.io/integrationset":"prod"}`+by("bob"), right)},
		"Unnoted":   {why: "its set has none", object: deployment(`,"labels":{"orcon.tengu.io/integrationset":"prod"}`, right), patch: `[{"op":"add","path":"/metadata/annotations","value":{"orcon.tengu.io/requester":"alice"}}]`},
		"Unchanged": {why: "a label is no request", object: deployment(by("bob"), right), before: deployment(by("bob"), right)},
		"Changed":   {why: "who changes it asks for it", object: deployment(by("bob"), right), before: deployment(by("bob"), "configmaps:old"), patch: `[{"op":"add","path":"/metadata/annotations/orcon.tengu.io~1requester","value":"alice"}]`},
		"Wrong":     {why: "the field, the reason and the cure", object: deployment("", wrong), refused: "BundleDeployment shop: spec.sources[0].reference: "},
		"WrongAsIs": {why: "what was admitted by an older release can be labelled, and deleted", object: deployment("", wrong), before: deployment("", wrong)},
		"Going":     {why: "there is nothing left to mend", object: deployment(`,"deletionTimestamp":"2026-01-01T00:00:00Z"`, wrong), before: deployment("", right)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, test.object, test.before)
			assert.Equal(t, test.refused == "", answer.Allowed, test.why)
			if test.refused != "" {
				assert.Contains(t, answer.Result.Message, test.refused, test.why)
			}
			if test.patch == "" {
				assert.Empty(t, answer.Patch, test.why)
			} else {
				assert.JSONEq(t, test.patch, string(answer.Patch), test.why)
			}
		})
	}
}
