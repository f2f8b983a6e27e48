package bundles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A policy judges the plan of a real cluster: what is deleted, changed and granted.
func TestPolicy(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.install(blue+extra))
	refusals := func(manifests, expression string) []bundle.Refusal {
		t.Helper()
		p := w.process(0)
		plan, err := p.Plan(t.Context(), p.wish(t, manifests))
		require.NoError(t, err)
		rules, err := policy.Compile([]policy.Rule{{Name: "rule", Expression: expression, Message: "not here"}})
		require.NoError(t, err)
		return rules.Refusals(plan.Preview())
	}
	noDeletions := `plan.actions.all(a, a.verb != "delete")`
	assert.Empty(t, refusals(green+extra, noDeletions))
	assert.Equal(t, []bundle.Refusal{{Rule: "rule", Message: "not here"}}, refusals(green, noDeletions))
	assert.NotEmpty(t, refusals(green+extra, `plan.actions.all(a, a.changes.all(c, c.path != "data.colour"))`))
	noSecrets := `plan.grants.all(g, !("secrets" in g.resources))`
	assert.NotEmpty(t, refusals(blue+extra+access, noSecrets))
	assert.Empty(t, refusals(blue+extra, noSecrets))
}

// A custom kind is as healthy as its probe says, and what it waits for is told.
func TestHealthCheck(t *testing.T) {
	w := newWorld(t)
	h, err := policy.CompileHealth([]bundle.Probe{{Group: w.namespace + ".example.org", Kind: "Gadget", Ready: "object.spec.size > 2"}})
	require.NoError(t, err)
	p := w.process(-1)
	p.world.Probes = h
	installed := strings.ReplaceAll(gadgets, "GROUP", w.namespace+".example.org")
	require.NoError(t, p.install(p.wish(t, installed)))
	p.Timeout = 1
	require.ErrorContains(t, p.install(p.wish(t, strings.ReplaceAll(installed, "size: 3", "size: 1"))), "its health check waits for object.spec.size > 2")
}
