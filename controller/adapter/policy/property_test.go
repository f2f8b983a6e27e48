package policy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

// with returns a copy of an object with another value at a path of names; nil removes it.
func with(fields map[string]any, value any, path ...string) map[string]any {
	copied := map[string]any{}
	maps.Copy(copied, fields)
	if len(path) > 1 {
		inner, _ := fields[path[0]].(map[string]any)
		value = with(inner, value, path[1:]...)
	}
	copied[path[0]] = value
	if value == nil {
		delete(copied, path[0])
	}
	return copied
}

// conditions returns the conditions of an object's status.
func conditions(o map[string]any) []any {
	status, _ := o["status"].(map[string]any)
	all, _ := status["conditions"].([]any)
	return slices.Clone(all)
}

// worse returns objects like a ready one that are not ready, by the reason. Conditions that are ignored stay.
func worse(o map[string]any, v health.Verdict, ignores []string) map[string]map[string]any {
	all := map[string]map[string]any{
		"it is deleted": with(o, "2026-11-27T11:59:00Z", "metadata", "deletionTimestamp"),
		"it has failed": with(o, append(conditions(o), map[string]any{"type": "Failed", "status": "True", "reason": "Broken"}), "status", "conditions"),
	}
	status, _ := o["status"].(map[string]any)
	if status["observedGeneration"] != nil {
		all["its generation is raised"] = with(o, int64(7), "metadata", "generation")
	}
	for i, one := range conditions(o) {
		fields, _ := one.(map[string]any)
		name, _ := fields["type"].(string)
		path := "status.conditions[" + name + "]"
		if !slices.Contains(ignores, name) && slices.ContainsFunc(v.Evidence, func(e health.Evidence) bool { return e.Path == path && e.Class == health.Positive }) {
			turned := conditions(o)
			turned[i] = with(fields, "False", "status")
			all[path+" is False"] = with(o, turned, "status", "conditions")
		}
	}
	return all
}

// With the library too, a ready object is not ready once it is deleted, changed, or reports a failure, or once a
// condition that speaks for it is False (CONTENT.md H3 and H4).
func TestNeverReadyWithLibrary(t *testing.T) {
	l, err := policy.Shipped()
	require.NoError(t, err)
	for _, e := range examples() {
		v := e.judge(l)
		if v.State != health.Ready {
			continue
		}
		opinion, _ := l.Probe(e.Object)
		for why, o := range worse(e.Object, v, opinion.Ignores) {
			assert.NotEqual(t, health.Ready, e.judgeAs(o, l).State, "%s: %s", e.file, why)
		}
		silent := with(e.Object, nil, "status")
		if without, _ := l.Probe(silent); !without.Statusless && e.Definition.Status == nil && !health.IsBuiltin(group(e.Object)) {
			assert.NotEqual(t, health.Ready, e.judgeAs(silent, l).State, "%s: its status is missing", e.file)
		}
	}
}

func group(o map[string]any) string {
	api, _ := o["apiVersion"].(string)
	group, _, found := strings.Cut(api, "/")
	if !found {
		return ""
	}
	return group
}

// With the library too, the order of conditions has no effect, and garbage gets a verdict (CONTENT.md H1 and H3).
func TestOrderAndGarbageWithLibrary(t *testing.T) {
	l, err := policy.Shipped()
	require.NoError(t, err)
	keys := rapid.SampledFrom([]string{"conditions", "type", "status", "phase", "observedGeneration", "replicas", "ready", "error", "reason"})
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Int64(), func(n int64) any { return n }))
	list := rapid.Map(rapid.SliceOfN(rapid.Map(rapid.MapOfN(keys, leaf, 0, 4), func(m map[string]any) any { return m }), 0, 3), func(all []any) any { return all })
	garbage := rapid.OneOf(leaf, list, rapid.Map(rapid.MapOfN(keys, rapid.OneOf(leaf, list), 0, 4), func(m map[string]any) any { return m }))
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(examples()).Draw(t, "case")
		if before := conditions(e.Object); len(before) > 0 {
			mixed := with(e.Object, rapid.Permutation(before).Draw(t, "conditions"), "status", "conditions")
			require.Equal(t, e.judge(l).State, e.judgeAs(mixed, l).State, e.file)
		}
		path := rapid.SampledFrom([][]string{{"status"}, {"metadata"}, {"spec"}, {"status", "conditions"}, {"status", "phase"}}).Draw(t, "path")
		v := e.judgeAs(with(e.Object, garbage.Draw(t, "value"), path...), l)
		require.NotEmpty(t, v.State, e.file)
		require.NotEmpty(t, v.Rule, e.file)
	})
}
