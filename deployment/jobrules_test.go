package deployment

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// ruled is a schema with its rules.
type ruled struct {
	Properties map[string]ruled `json:"properties"`
	Items      *ruled           `json:"items"`
	Rules      []struct {
		Rule    string `json:"rule"`
		Message string `json:"message"`
	} `json:"x-kubernetes-validations"`
}

// schemaOf returns the schema at a path of a kind, such as spec.env[].name.
func schemaOf(t *testing.T, plural, path string) ruled {
	t.Helper()
	text, err := manifests.ReadFile("crd/orcon.tengu.io_" + plural + ".yaml")
	require.NoError(t, err)
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPI ruled `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	require.NoError(t, yaml.Unmarshal(text, &crd))
	at := crd.Spec.Versions[0].Schema.OpenAPI
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		name, list := strings.CutSuffix(name, "[]")
		at = at.Properties[name]
		if list {
			at = *at.Items
		}
	}
	require.NotEmpty(t, at.Rules, path)
	return at
}

// refusals returns the messages of the rules that a value breaks; before is nil for a value that is new.
func refusals(t *testing.T, schema ruled, value, before any) []string {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("self", cel.DynType), cel.Variable("oldSelf", cel.DynType))
	require.NoError(t, err)
	var messages []string
	for _, r := range schema.Rules {
		if before == nil && strings.Contains(r.Rule, "oldSelf") {
			continue
		}
		compiled, issues := env.Compile(r.Rule)
		require.NoError(t, issues.Err(), r.Rule)
		program, err := env.Program(compiled)
		require.NoError(t, err)
		result, _, err := program.Eval(map[string]any{"self": value, "oldSelf": before})
		require.NoError(t, err, r.Rule)
		if result.Value() != true {
			messages = append(messages, r.Message)
		}
	}
	return messages
}

type object = map[string]any

// The kinds of runs refuse what their rules forbid, and nothing else (JOBS.md J2, J4 and J7).
func TestJobRules(t *testing.T) {
	named := func(n int) object { return object{"metadata": object{"name": strings.Repeat("n", n)}} }
	program := func(image string) object { return object{"image": image, "contract": "v1", "actions": []object{}} }
	digest := "@sha256:" + strings.Repeat("a", 64)
	held := object{"metadata": object{"name": "a"}, "state": object{"fence": 3}}
	tests := map[string]struct {
		plural, path string
		value, old   any
		says         string
	}{
		"Image":             {plural: "jobtemplates", path: "spec.image", value: "registry/db" + digest},
		"Tag":               {plural: "jobtemplates", path: "spec.image", value: "registry/db:latest", says: "name a digest"},
		"ShortDigest":       {plural: "jobtemplates", path: "spec.image", value: "registry/db@sha256:aa", says: "name a digest"},
		"Space":             {plural: "jobtemplates", path: "spec.image", value: "registry /db" + digest, says: "name a digest"},
		"Contract":          {plural: "jobtemplates", path: "spec.contract", value: "v2", says: "use v1"},
		"Variable":          {plural: "jobtemplates", path: "spec.env[].name", value: "TF_LOG"},
		"Reserved":          {plural: "jobtemplates", path: "spec.env[].name", value: "ORCON_RUN", says: "belongs to Orcon"},
		"Backend":           {plural: "jobtemplates", path: "spec.env[].name", value: "TF_HTTP_ADDRESS", says: "belongs to Orcon"},
		"SameTemplate":      {plural: "jobtemplates", path: "spec", value: program("a"), old: program("a")},
		"ChangedTemplate":   {plural: "jobtemplates", path: "spec", value: program("a"), old: program("b"), says: "never changes"},
		"NoProgram":         {plural: "jobtemplates", path: "spec", value: object{}, says: "name an image, or how it is built"},
		"NoContract":        {plural: "jobtemplates", path: "spec", value: object{"image": "a"}, says: "add contract and actions"},
		"Built":             {plural: "jobtemplates", path: "spec", value: object{"build": object{"type": "b"}}, old: object{"build": object{"type": "a"}}},
		"BuiltContract":     {plural: "jobtemplates", path: "spec", value: object{"build": object{}, "contract": "v1"}, says: "leave out contract, type"},
		"BuiltLater":        {plural: "jobtemplates", path: "spec", value: object{"build": object{}}, old: program("a"), says: "never changes"},
		"Interval":          {plural: "jobtemplates", path: "spec.build.source.interval", value: "1h"},
		"Type":              {plural: "jobtemplatetypes", path: "spec", value: object{"image": "a"}, says: "image and contract are required"},
		"Version":           {plural: "jobtemplateversions", path: "spec", value: program("a"), old: program("a")},
		"ChangedVersion":    {plural: "jobtemplateversions", path: "spec", value: program("a"), old: program("b"), says: "never changes"},
		"WorkspaceName":     {plural: "jobworkspaces", value: named(45)},
		"LongWorkspaceName": {plural: "jobworkspaces", value: named(46), says: "at most 45"},
		"FirstState":        {plural: "jobworkspaces", value: held, old: named(1)},
		"StateRemoved":      {plural: "jobworkspaces", value: named(1), old: held, says: "state cannot be removed"},
		"Lost":              {plural: "jobworkspaces", path: "spec.lostAfter", value: "1h"},
		"LostAtOnce":        {plural: "jobworkspaces", path: "spec.lostAfter", value: "999ms", says: "1s to 1h"},
		"LostLate":          {plural: "jobworkspaces", path: "spec.lostAfter", value: "61m", says: "1s to 1h"},
		"NoGrace":           {plural: "jobworkspaces", path: "spec.cancelGracePeriod", value: "0s"},
		"LongGrace":         {plural: "jobworkspaces", path: "spec.cancelGracePeriod", value: "2h", says: "at most 1h"},
		"Fence":             {plural: "jobworkspaces", path: "state.fence", value: 4, old: 3},
		"FenceFalls":        {plural: "jobworkspaces", path: "state.fence", value: 2, old: 3, says: "never used again"},
		"RunName":           {plural: "jobruns", value: named(52)},
		"LongRunName":       {plural: "jobruns", value: named(53), says: "at most 52"},
		"RunStateRemoved":   {plural: "jobruns", value: named(1), old: held, says: "state cannot be removed"},
		"Cancel":            {plural: "jobruns", path: "spec", value: object{"cancel": "Requested"}, old: object{}},
		"CancelTakenBack":   {plural: "jobruns", path: "spec", value: object{}, old: object{"cancel": "Requested"}, says: "a cancel is final: create another JobRun"},
		"TimeoutAdded":      {plural: "jobruns", path: "spec", value: object{"timeout": "1s"}, old: object{}, says: "timeout never changes"},
		"TimeoutChanged":    {plural: "jobruns", path: "spec.timeout", value: "2s", old: "1s", says: "timeout never changes"},
		"TimeoutAtOnce":     {plural: "jobruns", path: "spec.timeout", value: "0s", says: "at least 1s"},
		"PlanAdded":         {plural: "jobruns", path: "spec", value: object{"plan": "a"}, old: object{}, says: "plan never changes"},
		"PlanChanged":       {plural: "jobruns", path: "spec.plan", value: "b", old: "a", says: "plan never changes"},
		"ApprovalChanged":   {plural: "jobapprovals", path: "spec", value: object{"run": "b"}, old: object{"run": "a"}, says: "a JobApproval never changes"},
		"Hold":              {plural: "jobworkspaces", path: "spec.holdOnFailure", value: "24h"},
		"ShortHold":         {plural: "jobworkspaces", path: "spec.holdOnFailure", value: "1s", says: "1m to 24h"},
		"OtherWorkspace":    {plural: "jobruns", path: "spec.workspace", value: "b", old: "a", says: "workspace never changes"},
		"OtherAction":       {plural: "jobruns", path: "spec.action", value: "destroy", old: "deploy", says: "action never changes"},
		"Ends":              {plural: "jobruns", path: "state", value: object{"input": object{}, "end": object{}}, old: object{"input": object{}}},
		"InputRemoved":      {plural: "jobruns", path: "state", value: object{}, old: object{"input": object{}}, says: "frozen"},
		"InputChanged":      {plural: "jobruns", path: "state.input", value: object{"digest": "a"}, old: object{"digest": "b"}, says: "frozen"},
		"Report":            {plural: "jobruns", path: "state.report", value: object{"fence": 3}, old: object{"fence": 2, "message": "x"}},
		"ReportChanged":     {plural: "jobruns", path: "state.report", value: object{"fence": 2}, old: object{"fence": 2, "message": "x"}, says: "never changes"},
		"ReportRemoved":     {plural: "jobruns", path: "state", value: object{}, old: object{"report": object{}}, says: "a report stays"},
		"EndRemoved":        {plural: "jobruns", path: "state", value: object{}, old: object{"end": object{}}, says: "final"},
		"EndChanged":        {plural: "jobruns", path: "state.end", value: object{"phase": "Failed"}, old: object{"phase": "Lost"}, says: "final"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got := refusals(t, schemaOf(t, tc.plural, tc.path), tc.value, tc.old)
			if tc.says == "" {
				assert.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			assert.Contains(t, got[0], tc.says)
		})
	}
}
