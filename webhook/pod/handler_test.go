package pod_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/pod"
)

// call sends a body and returns the HTTP status and the answer.
func call(t *testing.T, h http.Handler, contentType, body string) (int, *admissionv1.AdmissionResponse) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/mutate", strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var review admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &review), w.Body.String())
	require.NotNil(t, review.Response)
	require.Equal(t, "admission.k8s.io/v1", review.APIVersion)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	return w.Code, review.Response
}

// changed returns the captured request with parts of it replaced.
func changed(t *testing.T, change func(request map[string]any)) string {
	t.Helper()
	var review map[string]any
	require.NoError(t, json.Unmarshal(captured, &review))
	request, _ := review["request"].(map[string]any)
	change(request)
	out, err := json.Marshal(review)
	require.NoError(t, err)
	return string(out)
}

const uid = "3f6b1f0e-9a38-4a3c-a2f1-7d1b7b1f2a10"

// TestInjects: the answer is a patch that the API server's library applies, and
// the pod it makes is one the types of Kubernetes read (INJECTION.md I2, I7).
func TestInjects(t *testing.T) {
	status, answer := call(t, handler(), "application/json", string(captured))
	assert.Equal(t, http.StatusOK, status)
	assert.True(t, answer.Allowed)
	assert.EqualValues(t, uid, answer.UID)
	require.NotNil(t, answer.PatchType)
	assert.Equal(t, admissionv1.PatchTypeJSONPatch, *answer.PatchType)
	assert.Equal(t, "Injected", answer.AuditAnnotations["injection"])

	var review struct {
		Request struct{ Object json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(captured, &review))
	patch, err := jsonpatch.DecodePatch(answer.Patch)
	require.NoError(t, err)
	after, err := patch.Apply(review.Request.Object)
	require.NoError(t, err)
	var p corev1.Pod
	decoder := json.NewDecoder(bytes.NewReader(after))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&p), "every field that is written exists")
	require.Len(t, p.Spec.InitContainers, 2)
	assert.Equal(t, "relation-canary", p.Spec.InitContainers[1].Name, "TRUST.md A5: after the gate")
	assert.Nil(t, p.Spec.InitContainers[1].RestartPolicy, "it ends")
	agent := p.Spec.InitContainers[0]
	assert.Equal(t, "relation-agent", agent.Name)
	assert.Equal(t, corev1.ContainerRestartPolicyAlways, *agent.RestartPolicy, "I3")
	assert.EqualValues(t, 3600, agent.StartupProbe.TimeoutSeconds, "I16")
	assert.Nil(t, agent.ReadinessProbe, "SAFETY.md I19")
	assert.Nil(t, agent.LivenessProbe, "SAFETY.md I19")
	assert.Nil(t, agent.Lifecycle, "I3: it fires at once on a native sidecar")
	for _, c := range p.Spec.Containers {
		assert.Equal(t, "orcon-run", c.Env[0].ValueFrom.FileKeyRef.VolumeName, "SAFETY.md D4")
		assert.Equal(t, "LOG_LEVEL", c.Env[len(c.Env)-3].Name, "the author's variables stay, in order")
	}
}

// INJECTION.md I12: everything but the creation of a pod is allowed as it is.
func TestOtherRequests(t *testing.T) {
	tests := map[string]func(map[string]any){
		"Update": func(r map[string]any) { r["operation"], r["oldObject"] = "UPDATE", r["object"] },
		"Delete": func(r map[string]any) { r["operation"], r["object"], r["oldObject"] = "DELETE", nil, r["object"] },
		"Connect": func(r map[string]any) {
			r["operation"], r["object"] = "CONNECT", map[string]any{"kind": "PodExecOptions"}
		},
		"Ephemeral":  func(r map[string]any) { r["subResource"] = "ephemeralcontainers" },
		"Resize":     func(r map[string]any) { r["subResource"] = "resize" },
		"OtherKind":  func(r map[string]any) { r["resource"] = map[string]any{"group": "apps", "resource": "deployments"} },
		"OtherGroup": func(r map[string]any) { r["resource"] = map[string]any{"group": "example.org", "resource": "pods"} },
		"OtherFields": func(r map[string]any) {
			r["resource"] = map[string]any{"group": "example.org", "resource": "things"}
			r["object"] = map[string]any{"spec": map[string]any{"containers": "none", "hostNetwork": 7}}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			status, answer := call(t, handler(), "application/json", changed(t, change))
			assert.Equal(t, http.StatusOK, status)
			assert.True(t, answer.Allowed)
			assert.EqualValues(t, uid, answer.UID)
			assert.Empty(t, answer.Patch)
		})
	}
}

// INJECTION.md I13: whatever arrives, the answer is an AdmissionReview with the
// cause, and the uid where one can be read.
func TestMalformedRequests(t *testing.T) {
	object := func(r map[string]any) map[string]any { o, _ := r["object"].(map[string]any); return o }
	tests := map[string]struct {
		contentType string
		body        string
		status      int
		uid         string
		message     string
	}{
		"Empty":          {body: "", status: 400, message: "empty"},
		"Space":          {body: " \n", status: 400, message: "empty"},
		"NotJSON":        {body: "hello", status: 400, message: "not JSON"},
		"Null":           {body: "null", status: 400, message: "AdmissionReview"},
		"List":           {body: "[]", status: 400, message: "unexpected type"},
		"CutOff":         {body: string(captured[:len(captured)-40]), status: 400, uid: uid, message: "not JSON"},
		"NoRequest":      {body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, status: 400, message: "no request"},
		"NullRequest":    {body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`, status: 400, message: "no request"},
		"NoUID":          {body: changed(t, func(r map[string]any) { delete(r, "uid") }), status: 400, message: "no uid"},
		"OtherVersion":   {body: strings.Replace(string(captured), "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), status: 400, uid: uid, message: "v1beta1"},
		"OtherKind":      {body: `{"apiVersion":"v1","kind":"Pod","metadata":{"uid":"no"}}`, status: 400, message: "Pod"},
		"WrongTypes":     {body: changed(t, func(r map[string]any) { object(r)["spec"] = "none" }), status: 400, uid: uid, message: "unexpected type"},
		"WrongEnv":       {body: changed(t, func(r map[string]any) { object(r)["metadata"] = map[string]any{"annotations": []any{}} }), status: 400, uid: uid, message: "unexpected type"},
		"TooLarge":       {body: strings.Repeat(" ", 12<<20), status: 413, message: "6291456"},
		"OtherMedia":     {contentType: "text/plain", body: string(captured), status: 415, message: "application/json"},
		"NoMedia":        {contentType: "-", body: string(captured), status: 415, message: "application/json"},
		"WithParameters": {contentType: "application/json; charset=utf-8", body: string(captured), status: 200, uid: uid},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			contentType := tc.contentType
			if contentType == "" {
				contentType = "application/json"
			}
			status, answer := call(t, handler(), contentType, tc.body)
			assert.Equal(t, tc.status, status)
			assert.EqualValues(t, tc.uid, answer.UID)
			assert.Equal(t, tc.status == 200, answer.Allowed)
			if tc.message != "" {
				require.NotNil(t, answer.Result)
				assert.Contains(t, answer.Result.Message, tc.message)
				assert.EqualValues(t, tc.status, answer.Result.Code)
			}
		})
	}
	r := httptest.NewRequest(http.MethodGet, "/mutate", nil)
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, r)
	assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

// pods returns the captured request for a pod of a person's own.
func pods(t *testing.T, annotations map[string]any, spec map[string]any) string {
	t.Helper()
	return changed(t, func(r map[string]any) {
		r["object"] = map[string]any{"metadata": map[string]any{"name": "p", "annotations": annotations}, "spec": spec}
	})
}

// INJECTION.md I1, SAFETY.md I27: a person hears why; a controller's pod leaves
// an audit annotation.
func TestTells(t *testing.T) {
	one := map[string]any{"containers": []any{map[string]any{"name": "a", "env": []any{map[string]any{"name": "SSE", "value": "x"}}}}}
	declared := map[string]any{"tengu.io/consumes": "sse", "tengu.io/relations": "x"}
	tests := map[string]struct {
		why     string
		body    string
		old     string
		allowed bool
		patched bool
		audit   string
		warning string
		refused string
	}{
		"Kept":     {why: "I14", body: pods(t, declared, one), allowed: true, patched: true, audit: "Injected", warning: "SSE"},
		"Typo":     {why: "I1", body: pods(t, map[string]any{"tengu.io/consumes": "sse", "tengu.io/relations": "x", "tengu.io/gates": "none"}, nil), allowed: true, patched: true, audit: "Injected", warning: "did you mean tengu.io/gate?"},
		"Windows":  {why: "I1", body: pods(t, declared, map[string]any{"os": map[string]any{"name": "windows"}}), allowed: true, audit: "WindowsPod", warning: "Windows"},
		"OptedOut": {why: "a wish is no news", body: pods(t, map[string]any{"tengu.io/consumes": "sse", "injector.tengu.io/inject": "false"}, nil), allowed: true, audit: "OptedOut"},
		"Nothing":  {why: "no news", body: pods(t, nil, nil), allowed: true, audit: "Undeclared"},
		"Old":      {why: "D13", body: pods(t, declared, nil), old: "the cluster is Kubernetes 1.34", allowed: true, audit: "OldCluster", warning: "1.34"},
		"Tools":    {why: "I1: a wish that is not understood must not be ignored", body: pods(t, map[string]any{"injector.tengu.io/tools": "True"}, nil), audit: "Refused", refused: `injector.tengu.io/tools: "True": it is neither true nor false; write true for the tools`},
		"NoTools":  {why: "a wish is no news", body: pods(t, map[string]any{"injector.tengu.io/tools": "false"}, nil), allowed: true, audit: "Undeclared"},
		"Refused":  {why: "I27: with key, entry, reason and cure", body: pods(t, map[string]any{"tengu.io/consumes": "D B"}, nil), audit: "Refused", refused: `tengu.io/consumes: "D B": a name consists of lower-case letters, digits, '-' and '_', begins with a letter and does not end with '-' or '_'; write d-b`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			outcome := ""
			h := &pod.Handler{
				Settings: func() injection.Settings { s := settings(); s.Unsupported = tc.old; return s },
				Observe:  func(o string) { outcome = o },
			}
			for _, dryRun := range []bool{false, true} {
				body := tc.body
				if dryRun {
					body = strings.Replace(body, `"dryRun":false`, `"dryRun":true`, 1)
				}
				_, answer := call(t, h, "application/json", body)
				assert.Equal(t, tc.allowed, answer.Allowed, tc.why)
				assert.Equal(t, tc.patched, len(answer.Patch) > 0, tc.why)
				assert.True(t, strings.HasPrefix(answer.AuditAnnotations["injection"], tc.audit), answer.AuditAnnotations)
				assert.Equal(t, tc.audit, outcome)
				if tc.warning == "" {
					assert.Empty(t, answer.Warnings, tc.why)
				} else {
					assert.Contains(t, strings.Join(answer.Warnings, "\n"), tc.warning, tc.why)
				}
				for _, w := range answer.Warnings {
					assert.Less(t, len(w), 256)
				}
				if tc.refused != "" {
					assert.Contains(t, answer.Result.Message, tc.refused, tc.why)
				}
			}
		})
	}
}

// TestReadShape: what the handler's own reader reads of a pod, encoding/json
// reads the same.
func TestReadShape(t *testing.T) {
	var review struct {
		Request struct{ Object json.RawMessage } `json:"request"`
	}
	require.NoError(t, json.Unmarshal(captured, &review))
	full := `{"metadata":{"name":"n","generateName":"g","namespace":"s","deletionTimestamp":"d","labels":{"a":"b"},"annotations":null,"ownerReferences":[{"kind":"k","name":"n","controller":true,"x":1}]},
		"spec":{"initContainers":[{"name":"i","restartPolicy":"Always"}],"containers":[{"name":"c","env":[{"name":"e","value":"v","valueFrom":null}],"volumeMounts":[{"name":"m","mountPath":"/m"}],"resources":{"limits":{"cpu":1,"memory":"1Gi"},"requests":{"cpu":"1000m"}},"securityContext":{"runAsUser":7}}],
		"volumes":[{"name":"v","emptyDir":{}}],"imagePullSecrets":[{"name":"s"}],"nodeSelector":{"k":"v"},"affinity":{"podAffinity":{"x":[1]},"nodeAffinity":{"x":1,"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[],"matchExpressions":[{"key":"k","operator":"In","values":["v","w"]},{"key":"k","operator":"Exists"}]},{}]}}},"hostNetwork":true,"shareProcessNamespace":true,"os":{"name":"linux"},"securityContext":{"runAsUser":0,"windowsOptions":{}},"resources":{"limits":{"cpu":"1"}},"future":[{}]}}`
	for _, text := range []string{string(review.Request.Object), full, `{}`, `{"metadata":{"labels":{}},"spec":{"containers":[],"os":null}}`} {
		var want injection.Shape
		require.NoError(t, json.Unmarshal([]byte(text), &want))
		assert.Equal(t, want, pod.ReadShape(t, text))
	}
}

// TestSource: a configuration that is wrong leaves the last good one, and what
// the environment names is the default image.
func TestSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tenguconfig.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	_, err := pod.NewSource("orcon-system", file, "")
	require.Error(t, err, "a server does not begin without what it was told to use")
	write("agent: {imge: x}")
	_, err = pod.NewSource("orcon-system", file, "")
	require.ErrorIs(t, err, injection.ErrConfig)
	write("agent: {logLevel: 2}")
	s, err := pod.NewSource("orcon-system", file, "agent:v1")
	require.NoError(t, err)
	assert.Equal(t, "2", s.Settings().Config.Agent.LogLevel)
	assert.Equal(t, "agent:v1", s.Settings().Config.Agent.Image)
	write("agent: {logLevel: 3, image: 'mine:1'}")
	pod.Reload(s)
	assert.Equal(t, "3", s.Settings().Config.Agent.LogLevel)
	assert.Equal(t, "mine:1", s.Settings().Config.Agent.Image)
	write("agent: {logLevel: 77}")
	pod.Reload(s)
	assert.Equal(t, "3", s.Settings().Config.Agent.LogLevel, "the last good one")
	write("agent: {logLevel: 4}")
	pod.Reload(s)
	assert.Equal(t, "4", s.Settings().Config.Agent.LogLevel)
	write("agent: {logLevel: 5}")
	go func() { _ = s.Start(t.Context()) }()
	require.Eventually(t, func() bool { return s.Settings().Config.Agent.LogLevel == "5" }, 10*time.Second, 10*time.Millisecond)
	s.Learn(func(now *injection.Settings) { now.Trust = "PEM" })
	assert.Equal(t, "PEM", s.Settings().Trust)
	defaults, err := pod.NewSource("x", "", "")
	require.NoError(t, err)
	assert.Equal(t, injection.DefaultConfig(), defaults.Settings().Config)
}

// FuzzHandler: no body stops the process or is answered without a cause.
func FuzzHandler(f *testing.F) {
	f.Add(string(captured))
	f.Add(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","resource":{"resource":"pods"},"operation":"CREATE","object":{"metadata":{"annotations":{"tengu.io/consumes":"a"}}}}}`)
	h := handler()
	f.Fuzz(func(t *testing.T, body string) {
		status, answer := call(t, h, "application/json", body)
		require.True(t, status == http.StatusOK || !answer.Allowed && answer.Result.Message != "")
		if len(answer.Patch) > 0 {
			_, err := jsonpatch.DecodePatch(answer.Patch)
			require.NoError(t, err)
		}
	})
}
