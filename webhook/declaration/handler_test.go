package declaration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/declaration"
)

// ask sends a manifest to be admitted, over what it was before if that is not
// empty.
func ask(t *testing.T, h http.Handler, manifest, before string) *admissionv1.AdmissionResponse {
	t.Helper()
	object := toJSON(t, manifest)
	var typed struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	require.NoError(t, json.Unmarshal(object, &typed))
	request := map[string]any{
		"uid": "u", "kind": map[string]any{"kind": typed.Kind}, "operation": "CREATE", "namespace": "shop",
		"object": json.RawMessage(object), "oldObject": nil,
	}
	if before != "" {
		request["operation"], request["oldObject"] = "UPDATE", json.RawMessage(toJSON(t, before))
	}
	body, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, "/declare", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var review admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &review))
	for _, warning := range review.Response.Warnings {
		assert.Less(t, len(warning), 256, "INJECTION.md I1")
	}
	return review.Response
}

func toJSON(t *testing.T, text string) []byte {
	t.Helper()
	out, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	return out
}

func handler(services ...injection.Service) http.Handler {
	index := &declaration.Index{}
	for _, s := range services {
		index.See("shop", s)
	}
	return &declaration.Handler{
		Settings: func() injection.Settings {
			return injection.Settings{Config: injection.DefaultConfig(), Namespace: "orcon-system"}
		},
		Services: index,
	}
}

// deployment has these annotations on itself and on its template.
func deployment(own, template string) string {
	return "kind: Deployment\nmetadata: {name: web, annotations: {" + own + "}}\nspec: {template: {metadata: {labels: {app: web}, annotations: {" + template + "}}, spec: {containers: [{name: a}]}}}\n"
}

func service(labels, annotations string) string {
	return "kind: Service\nmetadata: {name: web, labels: {" + labels + "}, annotations: {" + annotations + "}}\nspec: {selector: {app: web}}\n"
}

// TestRefuses: what is wrong in the object alone is refused with its field, its
// entry, the reason and what to write (INJECTION.md I30, SAFETY.md I27, P8, P9).
func TestRefuses(t *testing.T) {
	const related = "tengu.io/relations: x, "
	tests := map[string]struct {
		manifest string
		want     string
	}{
		"ServiceLabel":         {service("tengu.io/provides: S_", ""), `metadata.labels[tengu.io/provides]: "S_": a name consists of lower-case`},
		"ServiceAnnotation":    {service("", "tengu.io/provides: 'a,,b'"), `metadata.annotations[tengu.io/provides]: an entry is empty; write names separated by single commas`},
		"ServiceBoth":          {service("tengu.io/provides: a", "tengu.io/provides: a"), `[tengu.io/provides]: it is both a label and an annotation; keep one`},
		"ServiceVersion":       {service("", "tengu.io/provides: 'a:b@x'"), `"a:b@x": an interface version is a whole number from 1`},
		"ServiceMarks":         {service("", "tengu.io/provides: 'a?'"), `metadata.annotations[tengu.io/provides]: "a?"`},
		"ServiceDataYAML":      {service("", "data.tengu.io/a: '['"), `metadata.annotations[data.tengu.io/a]: it is not YAML`},
		"ServiceDataNested":    {service("", "data.tengu.io/a: 'b: {c: d}'"), `metadata.annotations[data.tengu.io/a]: "b": a value is text`},
		"ServiceDataName":      {service("", "data.tengu.io/A: 'b: c'"), `metadata.annotations[data.tengu.io/A]: after '/' is an endpoint`},
		"ServiceSecretName":    {service("", "secret.tengu.io/A: b"), `metadata.annotations[secret.tengu.io/A]: after '/' is an endpoint`},
		"ServiceSecret":        {service("", "secret.tengu.io/a: other/b"), `metadata.annotations[secret.tengu.io/a]: "other/b": a Secret's name consists of lower-case`},
		"SecretOfPeers":        {deployment("tengu.io/peers: 'ring:gossip', secret.tengu.io/ring: b", ""), `metadata.annotations[secret.tengu.io/ring]: peers belong to one application`},
		"ServiceRetain":        {service("", "tengu.io/retain: soon"), `metadata.annotations[tengu.io/retain]: "soon": it is not a duration`},
		"ServiceConsumes":      {service("", related+"tengu.io/consumes: 'D B'"), `metadata.annotations[tengu.io/consumes]: "D B": a name consists of lower-case letters, digits, '-' and '_', begins with a letter and does not end with '-' or '_'; write d-b`},
		"Consumes":             {deployment(related+"tengu.io/consumes: DB", ""), `metadata.annotations[tengu.io/consumes]: "DB"`},
		"ConsumesTwice":        {deployment(related+"tengu.io/consumes: 'db,db'", ""), `[tengu.io/consumes]: "db": the endpoint is named twice`},
		"ConsumesLimit":        {deployment(related+"tengu.io/consumes: 'db!0'", ""), `[tengu.io/consumes]: "db!0": a limit is`},
		"ConsumesReserved":     {deployment(related+"tengu.io/consumes: juju-info", ""), `"juju-info": juju and names that begin`},
		"ConsumesTemplate":     {deployment(related, "tengu.io/consumes: '1'"), `spec.template.metadata.annotations[tengu.io/consumes]: "1"`},
		"ConsumesMany":         {deployment(related+"tengu.io/consumes: 'a"+strings.Repeat(",a", 200)+"'", ""), "at most 128 entries"},
		"Relations":            {deployment("tengu.io/relations: 'A'", ""), `metadata.annotations[tengu.io/relations]: "A": an application's name`},
		"RelationsDots":        {deployment("tengu.io/relations: a.b.c", ""), `"a.b.c": the namespace after '.'`},
		"RelationsEndpoint":    {deployment("tengu.io/consumes: db, tengu.io/relations: 'dv=pg'", ""), `[tengu.io/relations]: "dv=pg": this object declares no endpoint "dv"`},
		"Peers":                {deployment("tengu.io/peers: ring", ""), `metadata.annotations[tengu.io/peers]: "ring": a peers entry names its interface`},
		"Roles":                {deployment(related+"tengu.io/consumes: db, tengu.io/provides: db", ""), `another role of this application already has an endpoint of that name`},
		"EnvNobody":            {deployment("tengu.io/env: db=user", ""), `[tengu.io/env]: "db": tengu.io/consumes has no such endpoint`},
		"EnvSyntax":            {deployment(related+"tengu.io/consumes: db, tengu.io/env: user", ""), `[tengu.io/env]: "user": an entry is endpoint=KEY,KEY`},
		"EnvLoader":            {deployment(related+"tengu.io/consumes: ld, tengu.io/env: ld=preload", ""), `metadata.annotations[tengu.io/env]: "LD_PRELOAD": a variable of that name steers`},
		"EnvClash":             {deployment(related+"tengu.io/consumes: db, tengu.io/env: 'db=a.b,a-b'", ""), `"DB_A_B": the variable would be both a.b of db and a-b of db`},
		"OnChange":             {deployment("tengu.io/on-change: signal", ""), `metadata.annotations[tengu.io/on-change]: "signal"`},
		"OnChangeElsewhere":    {deployment("", "tengu.io/on-change: 'http://evil:80/x'"), `spec.template.metadata.annotations[tengu.io/on-change]: "http://evil:80/x": evil is not this pod`},
		"OnChangeUnfit":        {deployment("", "tengu.io/on-change: signal:HUP"), `spec.template.metadata.annotations[tengu.io/on-change]: "signal:HUP": the pod's containers do not share their processes`},
		"Gate":                 {deployment("tengu.io/gate: never", ""), `metadata.annotations[tengu.io/gate]: "never": it must be wait, stale or none`},
		"Application":          {deployment("", "tengu.io/application: A.B"), `spec.template.metadata.annotations[tengu.io/application]: "A.B"`},
		"Inject":               {deployment("injector.tengu.io/inject: 'no'", ""), `metadata.annotations[injector.tengu.io/inject]: "no": it is neither true, false nor required`},
		"TemplateMode":         {deployment("", "injector.tengu.io/mode: once"), `spec.template.metadata.annotations[injector.tengu.io/mode]: "once": it is neither sidecar nor init`},
		"TemplateImage":        {deployment("", "injector.tengu.io/image: 'a b'"), `[injector.tengu.io/image]: "a b"`},
		"TemplateResources":    {deployment("", "injector.tengu.io/memory-limit: 10Mi"), `[injector.tengu.io/memory-limit]: "10Mi"`},
		"TemplateLabel":        {"kind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {labels: {tengu.io/provides: X_}}}}", `spec.template.metadata.labels[tengu.io/provides]: "X_"`},
		"CronJob":              {"kind: CronJob\nmetadata: {name: web}\nspec: {jobTemplate: {spec: {template: {metadata: {annotations: {tengu.io/consumes: X}}}}}}", `spec.jobTemplate.spec.template.metadata.annotations[tengu.io/consumes]: "X"`},
		"ForgedMark":           {deployment("", "tengu.io/retain: soon, injector.tengu.io/copied: tengu.io/retain"), `spec.template.metadata.annotations[tengu.io/retain]: "soon"`},
		"EnvBesideTheTemplate": {deployment("tengu.io/env: ld=preload", related+"tengu.io/consumes: ld"), `metadata.annotations[tengu.io/env]: "LD_PRELOAD"`},
	}
	require.GreaterOrEqual(t, len(tests), 20)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, handler(), tc.manifest, "")
			require.False(t, answer.Allowed, "%v", answer)
			assert.Contains(t, answer.Result.Message, tc.want)
			assert.Empty(t, answer.Patch)
		})
	}
}

// TestAllows: what is right, foreign, or somebody else's to judge passes as it
// is, and what an author should know is a warning (INJECTION.md I1, SAFETY.md
// I23, I27).
func TestAllows(t *testing.T) {
	tests := map[string]struct {
		why      string
		manifest string
		warning  string
	}{
		"Nothing":          {why: "nothing declared", manifest: service("a: b", "c: d")},
		"PrototypeService": {why: "PROTOTYPE.md", manifest: "kind: Service\nmetadata: {name: sse-endpoint, labels: {tengu.io/provides: sse}}\nspec: {type: ExternalName, externalName: idlab-iot.tengu.io}"},
		"NobodyThere":      {why: "I27: what depends on others is no refusal", manifest: service("", "tengu.io/consumes: db, tengu.io/relations: nobody")},
		"Elsewhere":        {why: "SAFETY.md M7: the same for any application of any namespace", manifest: service("", "tengu.io/consumes: db, tengu.io/relations: vault.bank")},
		"Unrelated":        {why: "I22: a warning now, a condition later", manifest: service("", "tengu.io/consumes: db"), warning: "metadata.annotations[tengu.io/consumes]: tengu.io/relations is missing, so that no endpoint has a provider"},
		"NoEndpoint":       {why: "a relation needs an endpoint", manifest: deployment("", "tengu.io/relations: db"), warning: "spec.template.metadata.annotations[tengu.io/relations]: this object declares no endpoint that could be related; add tengu.io/consumes"},
		"RelatedElsewhere": {why: "I22, I27: the workload consumes db", manifest: service("tengu.io/provides: web", "tengu.io/relations: 'db=pg'"), warning: `[tengu.io/relations]: "db=pg": this object declares no endpoint "db"`},
		"Typo":             {why: "I1: the nearest key is offered", manifest: service("", "tengu.io/provide: db"), warning: "did you mean tengu.io/provides?"},
		"TypoInTemplate":   {why: "the same", manifest: deployment("", "tengu.io/consume: db"), warning: "spec.template.metadata.annotations[tengu.io/consume]: this key is unknown"},
		"LabelDoesNothing": {why: "said, not swallowed", manifest: service("tengu.io/consumes: db", ""), warning: "it has no effect as a label"},
		"LabelOfWorkload":  {why: "I1: applications have it of their Services", manifest: "kind: Deployment\nmetadata: {name: web, labels: {tengu.io/provides: api}}\nspec: {template: {spec: {containers: [{name: a}]}}}\n", warning: "metadata.labels[tengu.io/provides]: the label has no effect here, because it is read from Services only; write it as an annotation"},
		"LabelOfTemplate":  {why: "the same", manifest: "kind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {labels: {tengu.io/provides: api}}, spec: {containers: [{name: a}]}}}\n", warning: "spec.template.metadata.labels[tengu.io/provides]: the label has no effect here"},
		"NamedService":     {why: "I1: the pods say to which application they belong", manifest: service("", "tengu.io/application: shop"), warning: "metadata.annotations[tengu.io/application]: it has no effect on a Service; write it in the pod template"},
		"Misplaced":        {why: "I23: modes are read from pods alone", manifest: deployment("injector.tengu.io/mode: init", ""), warning: "metadata.annotations[injector.tengu.io/mode]: it has no effect here"},
		"MisplacedPost":    {why: "I23: where data is sent, too", manifest: deployment("tengu.io/on-change: 'http::80/x'", ""), warning: "metadata.annotations[tengu.io/on-change]: it has no effect here, because it is read from pods only; write it in the pod template"},
		"ServicePost":      {why: "the same", manifest: service("", "tengu.io/on-change: 'http::80/x'"), warning: "metadata.annotations[tengu.io/on-change]: it has no effect here"},
		"Restart":          {why: "may stand there", manifest: deployment("tengu.io/on-change: restart", "")},
		"PostInTemplate":   {why: "where it belongs", manifest: deployment("", "tengu.io/on-change: 'http::80/x'")},
		"StaleCronJob":     {why: "its pods do not show its name (TRUST.md A1)", manifest: "kind: CronJob\nmetadata: {name: web}\nspec: {jobTemplate: {spec: {template: {metadata: {annotations: {tengu.io/consumes: db, tengu.io/relations: x, tengu.io/gate: stale}}}}}}", warning: "spec.jobTemplate.spec.template.metadata.annotations[tengu.io/gate]: \"stale\": pods of a CronJob find no copy of their data"},
		"JobsOfCronJob":    {why: "nobody reads them, and the pods would start without their data", manifest: "kind: CronJob\nmetadata: {name: web}\nspec: {jobTemplate: {metadata: {annotations: {tengu.io/consumes: db, tengu.io/relations: x}}, spec: {template: {spec: {containers: [{name: a}]}}}}}", warning: "spec.jobTemplate.metadata.annotations[tengu.io/consumes]: it has no effect here; write it in the pod template"},
		"HttpProxy":        {why: "P8: left out, not refused: files are there", manifest: service("", "tengu.io/consumes: 'web:http_proxy', tengu.io/relations: x"), warning: `"HTTP_PROXY"`},
		"Deleted":          {why: "I30: never an object being deleted", manifest: "kind: Service\nmetadata: {name: web, deletionTimestamp: '2026-01-01T00:00:00Z', annotations: {tengu.io/consumes: 'D B'}}"},
		"Made":             {why: "its maker was judged", manifest: "kind: ReplicaSet\nmetadata: {name: web, ownerReferences: [{kind: Deployment, name: web, controller: true}], annotations: {tengu.io/consumes: 'D B'}}"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, handler(), tc.manifest, "")
			require.True(t, answer.Allowed, "%v", answer.Result)
			assert.Empty(t, answer.Patch, tc.why)
			if tc.warning == "" {
				assert.Empty(t, answer.Warnings, tc.why)
				return
			}
			assert.Contains(t, strings.Join(answer.Warnings, "\n"), tc.warning, tc.why)
		})
	}
}

// TestJudgesChangesAlone: an update is judged by what it changes (INJECTION.md
// I30).
func TestJudgesChangesAlone(t *testing.T) {
	wrong := service("", "tengu.io/provides: 'A', x: yy")
	tests := map[string]struct {
		why        string
		now, older string
		allowed    bool
	}{
		"SomethingElse": {why: "what was admitted must not keep anybody from changing something else", now: service("", "tengu.io/provides: 'A', x: zz"), older: wrong, allowed: true},
		"Worse":         {why: "this request wrote it", now: service("", "tengu.io/provides: 'A,B'"), older: wrong},
		"Rewritten":     {why: "the value changed, the fault stays", now: service("", "tengu.io/provides: 'A,b'"), older: wrong},
		"Mended":        {why: "right now", now: service("", "tengu.io/provides: 'a'"), older: wrong, allowed: true},
		"New":           {why: "this request wrote it", now: wrong, older: service("", "")},
		"JobsLater":     {why: "the place is new", now: "kind: CronJob\nmetadata: {name: w}\nspec: {jobTemplate: {metadata: {annotations: {tengu.io/consumes: db}}, spec: {template: {metadata: {}}}}}", older: "kind: CronJob\nmetadata: {name: w}\nspec: {jobTemplate: {spec: {template: {metadata: {}}}}}", allowed: true},
		"ByAnother":     {why: "this request took the endpoint away", now: deployment("tengu.io/relations: x, tengu.io/consumes: db, tengu.io/env: sse=a", ""), older: deployment("tengu.io/relations: x, tengu.io/consumes: 'db,sse', tengu.io/env: sse=a", "")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.allowed, ask(t, handler(), tc.now, tc.older).Allowed, tc.why)
		})
	}
}

// TestCopies: the pod carries its declaration, whatever kind makes it
// (INJECTION.md I30, SAFETY.md I21, I22).
func TestCopies(t *testing.T) {
	const own = "metadata: {name: w, annotations: {tengu.io/consumes: db, tengu.io/relations: pg}}\n"
	byService := injection.Service{Name: "web", Selector: map[string]string{"app": "web"}, Annotations: map[string]string{"tengu.io/consumes": "sse", "tengu.io/relations": "x"}}
	tests := map[string]struct {
		why      string
		manifest string
		before   string
		services []injection.Service
		path     string
		want     string
	}{
		"Deployment":  {why: "nil annotations", manifest: "kind: Deployment\n" + own + "spec: {template: {metadata: {labels: {a: b}}}}", want: "db"},
		"StatefulSet": {why: "another kind", manifest: "kind: StatefulSet\n" + own + "spec: {template: {metadata: {annotations: {x: yy}}}}", want: "db"},
		"DaemonSet":   {why: "no metadata at all", manifest: "kind: DaemonSet\n" + own + "spec: {template: {spec: {}}}", want: "db"},
		"Job":         {why: "at creation", manifest: "kind: Job\n" + own + "spec: {template: {metadata: {}}}", want: "db"},
		"JobLater":    {why: "its template cannot change", manifest: "kind: Job\n" + own + "spec: {template: {metadata: {}}}", before: "kind: Job\nmetadata: {name: w}\nspec: {template: {metadata: {}}}"},
		"CronJob":     {why: "a deeper template", manifest: "kind: CronJob\n" + own + "spec: {jobTemplate: {spec: {template: {metadata: {}}}}}", path: "/spec/jobTemplate/spec/template/", want: "db"},
		"ByService":   {why: "I22: known in time", manifest: deployment("", ""), services: []injection.Service{byService}, want: "sse"},
		"Taken":       {why: "the copy goes with its origin", manifest: deployment("", "tengu.io/consumes: db, injector.tengu.io/copied: tengu.io/consumes"), before: deployment("tengu.io/consumes: db", "tengu.io/consumes: db, injector.tengu.io/copied: tengu.io/consumes"), want: "-"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, handler(tc.services...), tc.manifest, tc.before)
			require.True(t, answer.Allowed, "%v", answer.Result)
			assert.Empty(t, answer.Warnings)
			if tc.want == "" {
				assert.Empty(t, answer.Patch, tc.why)
				return
			}
			patch, err := jsonpatch.DecodePatch(answer.Patch)
			require.NoError(t, err)
			after, err := patch.Apply(toJSON(t, tc.manifest))
			require.NoError(t, err)
			var w struct {
				Spec struct {
					Template    template                                   `json:"template"`
					JobTemplate struct{ Spec struct{ Template template } } `json:"jobTemplate"`
				} `json:"spec"`
			}
			require.NoError(t, json.Unmarshal(after, &w))
			annotations := w.Spec.Template.Metadata.Annotations
			if tc.path != "" {
				annotations = w.Spec.JobTemplate.Spec.Template.Metadata.Annotations
			}
			if tc.want == "-" {
				assert.NotContains(t, annotations, "tengu.io/consumes", tc.why)
				return
			}
			assert.Equal(t, tc.want, annotations["tengu.io/consumes"], tc.why)
		})
	}
}

// A template is judged with the keys that are copied to it, not with those of an earlier copy, or without any (INJECTION.md
// I30, SAFETY.md I22, I27).
func TestJudgesWithCopies(t *testing.T) {
	const copied = "tengu.io/consumes: db, injector.tengu.io/copied: tengu.io/consumes"
	byService := injection.Service{Name: "web", Selector: map[string]string{"app": "web"}, Annotations: map[string]string{"tengu.io/consumes": "sse", "tengu.io/relations": "x"}}
	tests := map[string]struct {
		why, now, before string
		services         []injection.Service
	}{
		"Follows": {
			why: "kubectl apply leaves the copy of db until this request renews it",
			now: deployment("tengu.io/relations: x, tengu.io/consumes: 'db,sse'", copied+", tengu.io/env: sse=user"), before: deployment("tengu.io/relations: x, tengu.io/consumes: db", copied),
		},
		"Relations": {
			why: "the same",
			now: deployment("tengu.io/consumes: 'db,sse'", copied+", tengu.io/relations: 'sse=x'"), before: deployment("tengu.io/consumes: db", copied),
		},
		"Service":         {why: "it declares what the pods consume", now: deployment("", "tengu.io/env: sse=user"), services: []injection.Service{byService}},
		"ServiceWorkload": {why: "the same", now: deployment("tengu.io/env: sse=user", ""), services: []injection.Service{byService}},
		"ServiceChanged": {
			why: "another change of the workload must not fail for a Service",
			now: deployment("x: yy", "tengu.io/env: db=user, tengu.io/consumes: db, injector.tengu.io/copied: tengu.io/consumes@web"), services: []injection.Service{byService},
			before: deployment("x: zz", "tengu.io/env: db=user, tengu.io/consumes: db, injector.tengu.io/copied: tengu.io/consumes@web"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, handler(tc.services...), tc.now, tc.before)
			require.True(t, answer.Allowed, "%s: %v", tc.why, answer.Result)
			assert.NotEmpty(t, answer.Patch, "keys are copied")
		})
	}
}

// The relations of a Service are those of the pods that it selects: others lack theirs (SAFETY.md I22).
func TestRelationsOfAnotherService(t *testing.T) {
	api := injection.Service{Name: "api", Selector: map[string]string{"app": "api"}, Annotations: map[string]string{"tengu.io/consumes": "sse", "tengu.io/relations": "x"}}
	answer := ask(t, handler(api), deployment("tengu.io/consumes: db", ""), "")
	require.Len(t, answer.Warnings, 1)
	assert.Contains(t, answer.Warnings[0], "metadata.annotations[tengu.io/consumes]: tengu.io/relations is missing")
}

// A template's resources are judged with those of the installation, as its pods' are (INJECTION.md I11, I15, SAFETY.md I27).
func TestJudgesByTheInstallation(t *testing.T) {
	h := &declaration.Handler{Services: &declaration.Index{}, Settings: func() injection.Settings {
		s := injection.Settings{Config: injection.DefaultConfig(), Namespace: "orcon-system"}
		s.Config.Agent.Resources = injection.Resources{CPURequest: "1", CPULimit: "2", MemoryRequest: "128Mi", MemoryLimit: "256Mi"}
		return s
	}}
	const related = "tengu.io/consumes: db, tengu.io/relations: x, "
	answer := ask(t, h, deployment("", related+"injector.tengu.io/memory-request: 200Mi"), "")
	assert.True(t, answer.Allowed, "the limit is 256Mi: %v", answer.Result)
	answer = ask(t, h, deployment("", related+"injector.tengu.io/cpu-limit: 500m"), "")
	require.False(t, answer.Allowed, "the request is 1")
	assert.Contains(t, answer.Result.Message, "the request 1 is more than the limit 500m")
}

type template struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// TestWarnsOfPods: what nobody would read at the pods is said at the workload
// (INJECTION.md I1, I14).
func TestWarnsOfPods(t *testing.T) {
	const declares = "kind: Deployment\nmetadata: {name: w, annotations: {tengu.io/consumes: db, tengu.io/relations: pg}}\n"
	tests := map[string]struct{ manifest, warning string }{
		"Windows":  {declares + "spec: {template: {metadata: {}, spec: {os: {name: windows}}}}", "not injected: it is for Windows nodes"},
		"OptedOut": {declares + "spec: {template: {metadata: {annotations: {injector.tengu.io/inject: 'false'}}}}", "the pods opt out"},
		"Kept":     {declares + "spec: {template: {metadata: {}, spec: {containers: [{name: a, env: [{name: DB_HOST}]}]}}}", `spec.template.spec.containers[a].env: "DB_HOST": the container has it already`},
		"Conflict": {declares + "spec: {template: {metadata: {annotations: {tengu.io/consumes: sse}}}}", `the pod template says "sse", which counts`},
		"Taken":    {declares + "spec: {template: {metadata: {}, spec: {containers: [{name: relation-agent}]}}}", "will be refused"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, handler(), tc.manifest, "")
			require.True(t, answer.Allowed)
			require.Len(t, answer.Warnings, 1)
			assert.Contains(t, answer.Warnings[0], tc.warning)
		})
	}
}

// A warning has its reason and its cure, however much the author wrote (INJECTION.md I1).
func TestWarningsAreWhole(t *testing.T) {
	var own, template, env []string
	for i := range 30 {
		own, template = append(own, fmt.Sprintf("database-%d", i)), append(template, fmt.Sprintf("db-%d", i))
		env = append(env, fmt.Sprintf("{name: DB_%d_HOST}", i))
	}
	answer := ask(t, handler(), deployment("tengu.io/relations: x, tengu.io/consumes: '"+strings.Join(own, ",")+"'",
		"tengu.io/consumes: '"+strings.Join(template, ",")+"'"), "")
	require.Len(t, answer.Warnings, 1)
	assert.Contains(t, answer.Warnings[0], `which counts; say it in one place`)

	answer = ask(t, handler(), "kind: Deployment\nmetadata: {name: w, annotations: {tengu.io/relations: x, tengu.io/consumes: '"+strings.Join(template, ",")+
		"'}}\nspec: {template: {metadata: {}, spec: {containers: [{name: a, env: ["+strings.Join(env, ", ")+"]}]}}}\n", "")
	require.Len(t, answer.Warnings, 1)
	assert.Contains(t, answer.Warnings[0], `"DB_0_HOST, `)
	assert.Contains(t, answer.Warnings[0], "the container has it already, so it is not set; remove it to get the relation's value")
}

// Declarations that many send at a time take no more memory than the webhook has: YAML makes a tree of 30 MiB of each of these
// (TRUST.md, Bounds).
func TestLongDeclarationsAtOnce(t *testing.T) {
	text := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"kind":"Service"},"operation":"CREATE",` +
		`"object":{"metadata":{"annotations":{"data.tengu.io/db":"{` + strings.Repeat("a,", 60<<10) + `}"}}}}}`
	limit := debug.SetMemoryLimit(128 << 20) // what is over it is in use
	t.Cleanup(func() { debug.SetMemoryLimit(limit) })
	h := handler()
	var all sync.WaitGroup
	for range 24 {
		all.Go(func() {
			r := httptest.NewRequest(http.MethodPost, "/declare", strings.NewReader(text))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			assert.Contains(t, w.Body.String(), "the key appears twice")
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	var most uint64
	assert.Eventually(t, func() bool {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
		select {
		case <-done:
			return true
		default:
			return false
		}
	}, time.Minute, 2*time.Millisecond)
	assert.Less(t, most>>20, uint64(192), "MiB: all at once take twice that")
}

func TestIndexForgets(t *testing.T) {
	x := &declaration.Index{}
	assert.Empty(t, x.Declaring("shop"))
	x.Forget("shop", "web")
	says := map[string]string{"tengu.io/consumes": "db"}
	x.See("shop", injection.Service{Name: "web", Annotations: says})
	x.See("other", injection.Service{Name: "web", Annotations: says})
	assert.Len(t, x.Declaring("shop"), 1)
	x.See("shop", injection.Service{Name: "web"})
	assert.Empty(t, x.Declaring("shop"), "it says nothing any more")
	assert.Len(t, x.Declaring("other"), 1)
	x.Forget("other", "web")
	assert.Empty(t, x.Declaring("other"))
}
