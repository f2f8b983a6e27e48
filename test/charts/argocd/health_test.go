package argocd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/approval"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

const (
	deployment = "../../../deployment"
	prefix     = "resource.customizations.health.orcon.tengu.io_"
)

// checks returns the scripts that Argo CD runs, by kind.
func checks(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployment, "argocd", "health.yaml"))
	require.NoError(t, err)
	var configMap struct{ Data map[string]string }
	require.NoError(t, yaml.Unmarshal(text, &configMap))
	scripts := map[string]string{}
	for key, script := range configMap.Data {
		kind, found := strings.CutPrefix(key, prefix)
		require.True(t, found, key)
		scripts[kind] = script
	}
	return scripts
}

// definition is as much of a CustomResourceDefinition as says whether objects of the kind have conditions.
type definition struct {
	Spec struct {
		Names    struct{ Kind string }
		Versions []struct {
			Schema struct {
				OpenAPIV3Schema struct {
					Properties map[string]struct{ Properties map[string]any }
				} `json:"openAPIV3Schema"`
			}
		}
	}
}

// Each kind with conditions has a check, but for Databag, which has some only while it is in trouble.
func TestEachKindIsChecked(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(deployment, "crd", "orcon.tengu.io_*.yaml"))
	require.NoError(t, err)
	var kinds []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var crd definition
		require.NoError(t, yaml.Unmarshal(text, &crd))
		_, has := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"]
		if kind := crd.Spec.Names.Kind; has && kind != "Databag" {
			kinds = append(kinds, kind)
		}
	}
	for kind := range checks(t) {
		assert.Contains(t, kinds, kind)
	}
	assert.Len(t, checks(t), len(kinds), "deployment/argocd/health.yaml has not all of %s", kinds)
}

// What the checks read exists: each condition that they name, and each reason.
func TestWhatChecksNameExists(t *testing.T) {
	var reasons []string
	for _, all := range [][]condition.Meaning{
		condition.Meanings(), integrationset.Meanings(), node.Meanings(), run.Meanings(), workspace.Meanings(), approval.Meanings(),
		template.Meanings(),
	} {
		for _, m := range all {
			reasons = append(reasons, m.Reason)
		}
	}
	for _, m := range bundle.Meanings() {
		reasons = append(reasons, string(m.Reason))
	}
	var types []string
	for _, s := range slices.Concat(condition.Sentences(), bundle.Sentences()) {
		types = append(types, string(s.Type))
	}
	for kind, script := range checks(t) {
		named := regexp.MustCompile(`\bis\.(\w+)`).FindAllStringSubmatch(script, -1)
		require.NotEmpty(t, named, kind)
		for _, m := range named {
			assert.Contains(t, types, m[1], kind)
		}
		named = regexp.MustCompile(`(\w+) = true`).FindAllStringSubmatch(script, -1)
		require.NotEmpty(t, named, kind)
		for _, m := range named {
			assert.Contains(t, reasons, m[1], kind)
		}
	}
}

// shown returns the fields of an object with conditions.
func shown(t *testing.T, conditions []condition.Condition) map[string]any {
	t.Helper()
	var all []any
	for _, c := range conditions {
		status := "False"
		if c.True {
			status = "True"
		}
		all = append(all, map[string]any{"type": string(c.Type), "status": status, "reason": c.Reason, "message": c.Message})
	}
	return map[string]any{"status": map[string]any{"conditions": all, "observedGeneration": 3.0}}
}

// The checks show each state of an object as Argo CD does that of its own kinds.
func TestHealth(t *testing.T) {
	outdated := condition.New(condition.AgentOutdated, true, "AgentOutdated", "replace the pods")
	for name, test := range map[string]struct {
		why    string
		kind   string
		fields map[string]any
		status string
		says   string
	}{
		"New": {"it is not judged yet", "Relation", map[string]any{}, "Progressing", "its controller has not reported on it yet"},
		"Empty": {"nor is it with a status alone", "BundleDeployment", map[string]any{"status": map[string]any{}}, "Progressing",
			"its controller has not reported on it yet"},
		"Ready": {"Ready has the message", "Relation", shown(t, condition.Settled("Complete", "all is there")), "Healthy", "all is there"},
		"Waits": {"Reconciling has the whole message", "RelatedApplication", shown(t, condition.Waiting("NoData", strings.Repeat("long ", 40))),
			"Progressing", strings.Repeat("long ", 40)},
		"Stalled":  {"a person must act", "Relation", shown(t, condition.Stuck("Ambiguous", "two fit")), "Degraded", "two fit"},
		"Paused":   {"a person has decided that", "BundleDeployment", shown(t, condition.Stuck("Paused", "spec.paused")), "Suspended", "spec.paused"},
		"Approval": {"and is to decide that", "IntegrationSet", shown(t, condition.Stuck("WaitingForApproval", "approve")), "Suspended", "approve"},
		"Partly": {"a part does not work", "RelatedApplication", shown(t, condition.With(condition.Settled("AgentOutdated", "data is there"), outdated)),
			"Degraded", "see condition AgentOutdated"},
		"Changed": {"what is shown is of an earlier spec", "Offer", func() map[string]any {
			o := shown(t, condition.Settled("Offered", "it can be related to"))
			o["metadata"] = map[string]any{"generation": 4.0}
			return o
		}(), "Progressing", "its controller has not reported on it yet"},
		"Template": {"only built ones have conditions", "JobTemplate", map[string]any{"spec": map[string]any{}}, "Healthy", "it is not built"},
		"Build": {"those are judged", "JobTemplate", map[string]any{"spec": map[string]any{"build": map[string]any{}}}, "Progressing",
			"its controller has not reported on it yet"},
	} {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{"kind": test.kind, "metadata": map[string]any{"generation": 3.0}, "spec": map[string]any{}}
			for field, value := range test.fields {
				object[field] = value
			}
			status, says := health(t, checks(t)[test.kind], object)
			assert.Equal(t, test.status, status, test.why)
			assert.Equal(t, strings.TrimSpace(test.says), strings.TrimSpace(says), test.why)
		})
	}
}

// health runs a check as Argo CD does: with a few libraries, the object in a global variable, and a table as the answer.
func health(t *testing.T, script string, object map[string]any) (status, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		require.NoError(t, l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)))
	}
	l.SetGlobal("obj", value(t, l, object))
	require.NoError(t, l.DoString(script))
	table, is := l.Get(-1).(*lua.LTable)
	require.True(t, is, "the check returns no table")
	return lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message"))
}

// value returns a value of JSON as one of Lua.
func value(t *testing.T, l *lua.LState, v any) lua.LValue {
	t.Helper()
	switch v := v.(type) {
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		list := l.NewTable()
		for _, item := range v {
			list.Append(value(t, l, item))
		}
		return list
	case map[string]any:
		fields := l.NewTable()
		for name, item := range v {
			fields.RawSetString(name, value(t, l, item))
		}
		return fields
	}
	require.Failf(t, "a value of no kind that objects have here", "%T", v)
	return lua.LNil
}
