package policy_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health/library"
)

// term is one term of a conjunction or disjunction but the first, and one entry of a list but the last.
var term = regexp.MustCompile(`\s(&&|\|\|)\s[^&|()?:]+|'[^']+', `)

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
	for name, field := range map[string]func(*library.Probe) *string{
		"ready":     func(w *library.Probe) *string { return &w.Ready },
		"failed":    func(w *library.Probe) *string { return &w.Failed },
		"terminal":  func(w *library.Probe) *string { return &w.Terminal },
		"suspended": func(w *library.Probe) *string { return &w.Suspended },
	} {
		text := *field(&p)
		for _, at := range term.FindAllStringIndex(text, -1) {
			with(name+" without "+text[at[0]:at[1]], func(w *library.Probe) { *field(w) = text[:at[0]] + text[at[1]:] })
		}
	}
	for i, name := range p.Ignores {
		with("ignores "+name, func(w *library.Probe) { w.Ignores = slices.Delete(slices.Clone(p.Ignores), i, i+1) })
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
			if err != nil {
				continue // the rest of the expression is none
			}
			decides := slices.ContainsFunc(all, func(e example) bool {
				_, known := l.Probe(e.Object)
				return known && string(e.judge(l).State) != e.Want
			})
			assert.True(t, decides, "%s.%s, %s: no case needs it", p.Kind, p.Group, part)
		}
	}
}
