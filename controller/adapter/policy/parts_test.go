package policy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health/library"
)

// weakened returns copies of a probe, each without one of its parts, by the part's name.
func weakened(p library.Probe) map[string]library.Probe {
	all := map[string]library.Probe{}
	with := func(name string, change func(*library.Probe)) {
		weaker := p
		change(&weaker)
		all[name] = weaker
	}
	if p.Ready != "true" {
		with("ready", func(w *library.Probe) { w.Ready = "true" })
	}
	if p.Failed != "" {
		with("failed", func(w *library.Probe) { w.Failed = "" })
	}
	if p.Terminal != "" {
		with("terminal", func(w *library.Probe) { w.Terminal = "" })
	}
	if p.Suspended != "" {
		with("suspended", func(w *library.Probe) { w.Suspended = "" })
	}
	for i, name := range p.Ignores {
		with("ignores "+name, func(w *library.Probe) { w.Ignores = slices.Delete(slices.Clone(p.Ignores), i, i+1) })
	}
	if p.Statusless != "" {
		with("statusless", func(w *library.Probe) { w.Statusless = "" })
	}
	if p.Statusless != "" && p.Statusless != "true" {
		with("the condition of statusless", func(w *library.Probe) { w.Statusless = "true" })
	}
	return all
}

// Each part of a shipped probe decides a case: without it some case would get another verdict (CONTENT.md H4).
func TestEachPartOfAProbeDecidesACase(t *testing.T) {
	probes, err := library.Probes()
	require.NoError(t, err)
	all := examples()
	for _, p := range probes {
		for part, weaker := range weakened(p) {
			l, err := policy.CompileLibrary([]library.Probe{weaker})
			require.NoError(t, err)
			decides := slices.ContainsFunc(all, func(e example) bool {
				_, known := l.Probe(e.Object)
				return known && string(e.judge(l).State) != e.Want
			})
			assert.True(t, decides, "%s.%s, %s: no case needs it", p.Kind, p.Group, part)
		}
	}
}
