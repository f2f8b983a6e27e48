package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// plan updates a Deployment, deletes a ConfigMap, and gives everything to somebody.
func plan() bundle.Preview {
	everything := bundle.Rule{Verbs: []string{"*"}, Groups: []string{"*"}, Resources: []string{"*"}}
	return bundle.Plan{
		Owner: "shop/shop",
		Actions: []bundle.Action{
			{Verb: bundle.Update, ID: bundle.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Phase: bundle.Workloads, Restarts: true, Pods: 3, Changes: []bundle.Change{
				{Path: "spec.replicas", Before: "3", After: "5"},
			}},
			{Verb: bundle.Delete, ID: bundle.ID{Kind: "ConfigMap", Namespace: "shop", Name: "old"}},
		},
		Grants: []bundle.Grant{{To: "User eve", Rule: everything}},
	}.Preview()
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		why        string
		expression string
		want       string
	}{
		"Allowed":   {"it holds", `plan.actions.all(a, a.namespace == "shop")`, ""},
		"Verb":      {"something is deleted", `plan.actions.all(a, a.verb != "delete")`, "no: because"},
		"Grant":     {"somebody gets everything", `!plan.grants.exists(g, g.everything)`, "no: because"},
		"Restart":   {"pods start anew", `plan.actions.all(a, !a.restarts || a.pods < 3)`, "no: because"},
		"Change":    {"a field of any object", `plan.actions.all(a, a.changes.all(c, c.path != "spec.replicas" || int(c.after) < 4))`, "no: because"},
		"Strings":   {"names are looked into", `plan.deployment.startsWith("shop/") && plan.actions.filter(a, a.kind.matches("^Con")).size() == 1`, ""},
		"Evaluated": {"what cannot be told is not allowed", `int(plan.deployment) > 0`, "no: it cannot be evaluated"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := policy.Compile([]policy.Rule{{Name: "no", Expression: tc.expression, Message: "because"}})
			require.NoError(t, err)
			refusals := p.Refusals(plan())
			if tc.want == "" {
				assert.Empty(t, refusals, tc.why)
				assert.NoError(t, bundle.Allowed(refusals))
				return
			}
			require.Len(t, refusals, 1, tc.why)
			assert.Contains(t, refusals[0].String(), tc.want, tc.why)
			var refused *bundle.RefusedError
			require.ErrorAs(t, bundle.Allowed(refusals), &refused)
			assert.Equal(t, bundle.Refused, refused.Reason)
		})
	}
	p, err := policy.Compile([]policy.Rule{{Name: "a", Expression: "plan.base > 0"}})
	require.NoError(t, err)
	assert.Equal(t, []bundle.Refusal{{Rule: "a", Message: "plan.base > 0"}}, p.Refusals(plan()), "without a message the expression says it")
}

// What is no expression is told with its place, all at once.
func TestCompileErrors(t *testing.T) {
	_, err := policy.Compile([]policy.Rule{
		{Name: "typo", Expression: "plan.actions.all(a,\n  a.verbs != 'delete')"}, {Name: "syntax", Expression: "plan.actions.all("},
		{Name: "number", Expression: "plan.base"}, {Name: "long", Expression: strings.Repeat("a", 5000)}, {Name: "unknown", Expression: "cluster == 1"},
	})
	require.Error(t, err)
	for _, want := range []string{
		`rule "typo": line 2, column 4: undefined field 'verbs'`, `rule "syntax": line 1, column`, `rule "number": it returns int: write an expression that returns true or false`,
		`rule "long": `, `rule "unknown": line 1, column 1: undeclared reference to 'cluster'`,
	} {
		assert.ErrorContains(t, err, want)
	}
}

// An expression that would never end is stopped, and allows nothing.
func TestWorkIsLimited(t *testing.T) {
	large := bundle.Plan{}
	for i := range 300 {
		large.Actions = append(large.Actions, bundle.Action{Verb: bundle.Create, ID: bundle.ID{Kind: "ConfigMap", Name: fmt.Sprint(i)}})
	}
	p, err := policy.Compile([]policy.Rule{
		{Name: "pairs", Expression: "plan.actions.all(a, plan.actions.filter(b, a.name == b.name).size() == 1)"},
		{Name: "triples", Expression: "plan.actions.all(a, plan.actions.all(b, plan.actions.all(c, a.kind == c.kind)))"},
	})
	require.NoError(t, err)
	began := time.Now()
	refusals := p.Refusals(large.Preview())
	assert.Less(t, time.Since(began), time.Minute)
	require.Len(t, refusals, 1)
	assert.Contains(t, refusals[0].String(), "triples: it cannot be evaluated")
}

func TestParse(t *testing.T) {
	rules, err := policy.Parse([]byte("- {name: a, expression: 'true', message: m}\n- {name: b, expression: 'plan.base > 0'}\n"))
	require.NoError(t, err)
	assert.Equal(t, []policy.Rule{{Name: "a", Expression: "true", Message: "m"}, {Name: "b", Expression: "plan.base > 0"}}, rules)
	for text, want := range map[string]string{
		"- {name: a, expresion: x}": "expresion", "name: a": "it is not a list", "- {name: a}": `rule 1 ("a") needs a name and an expression`,
		"- {name: a, expression: x}\n- {name: a, expression: y}": `two rules are named "a"`,
	} {
		_, err := policy.Parse([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

// Whatever somebody writes is read, or refused with a reason.
func FuzzParse(f *testing.F) {
	f.Add([]byte("- {name: a, expression: 'plan.actions.all(a, a.verb != \"delete\")', message: m}"))
	f.Add([]byte("- {name: a, expression: 'plan.grants[0].verbs.exists(v, v == \"*\")'}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := policy.Parse(text)
		if err != nil {
			return
		}
		if p, err := policy.Compile(rules); err == nil {
			p.Refusals(plan())
		}
	})
}
