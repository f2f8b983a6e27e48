package health_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

// with returns a copy of an object with another value at a path of names.
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

// statusless are the built-in kinds that are ready without a status.
func statusless(e example) bool {
	kind, _ := e.Object["kind"].(string)
	return slices.Contains([]string{"ConfigMap", "Service", "Ingress", "CronJob"}, kind) && !strings.Contains(e.name, "knative") ||
		e.Definition.Status != nil && !*e.Definition.Status
}

// An object that is deleted, has no status, or has one of an earlier generation is never ready, and neither
// is one that reports a failure, or whose condition that sums it up is False (CONTENT.md H3).
func TestNeverReady(t *testing.T) {
	for _, e := range examples(t) {
		never := func(why string, o map[string]any) {
			v := health.Judge(o, e.knowledge(), now)
			assert.NotEqual(t, health.Ready, v.State, "%s: %s", e.name, why)
			assert.False(t, v.State != health.Ready && v.Rule == "", "%s: %s: no rule", e.name, why)
		}
		never("it is deleted", with(e.Object, "2026-11-27T11:59:00Z", "metadata", "deletionTimestamp"))
		if !statusless(e) {
			never("its status is missing", with(e.Object, nil, "status"))
			never("its status is empty", with(e.Object, map[string]any{}, "status"))
		}
		failed := append(conditions(e.Object), map[string]any{"type": "Failed", "status": "True", "reason": "Broken"})
		never("it has failed", with(e.Object, failed, "status", "conditions"))
		if status, _ := e.Object["status"].(map[string]any); status["observedGeneration"] != nil || strings.Contains(fmt.Sprint(conditions(e.Object)), "observedGeneration") {
			never("a generation behind", with(e.Object, int64(7), "metadata", "generation"))
		}
		v := health.Judge(e.Object, e.knowledge(), now)
		for i, one := range conditions(e.Object) {
			fields, _ := one.(map[string]any)
			path := fmt.Sprintf("status.conditions[%v]", fields["type"])
			if slices.ContainsFunc(v.Evidence, func(e health.Evidence) bool { return e.Path == path && e.Class == health.Positive }) {
				turned := conditions(e.Object)
				turned[i] = with(fields, "False", "status")
				never(path+" is False", with(e.Object, turned, "status", "conditions"))
			}
		}
	}
}

// A status that was written before the last change of the spec counts 15 seconds later (CONTENT.md H3).
func TestOldStatus(t *testing.T) {
	entry := func(when time.Time, field, subresource string) any {
		return map[string]any{"manager": "m", "time": when.Format(time.RFC3339), "subresource": subresource,
			"fieldsV1": map[string]any{field: map[string]any{}}}
	}
	tests := map[string]struct {
		why             string
		changed, judged time.Duration
		field           string
		want            health.State
	}{
		"Old":    {"the controller may not have looked yet", -2 * time.Second, -time.Minute, "f:spec", health.InProgress},
		"Newer":  {"the status is about this spec", -2 * time.Second, -time.Second, "f:spec", health.Ready},
		"Same":   {"times are whole seconds", -2 * time.Second, -2 * time.Second, "f:spec", health.Ready},
		"Late":   {"a controller that had nothing to write", -15 * time.Second, -time.Minute, "f:spec", health.Ready},
		"Marked": {"annotations change nothing", -2 * time.Second, -time.Minute, "f:metadata", health.Ready},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			o := map[string]any{"apiVersion": "example.org/v1", "kind": "Engine", "status": map[string]any{"phase": "Running"}}
			fields := []any{entry(now.Add(tc.changed), tc.field, ""), entry(now.Add(tc.judged), "f:status", "status")}
			v := health.Judge(with(o, fields, "metadata", "managedFields"), health.Knowledge{}, now)
			assert.Equal(t, tc.want, v.State, tc.why)
		})
	}
}

// The order of lists has no effect on a verdict (CONTENT.md H3).
func TestOrder(t *testing.T) {
	all := examples(t)
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(all).Draw(t, "case")
		before := health.Judge(e.Object, e.knowledge(), now)
		mixed := with(e.Object, rapid.Permutation(conditions(e.Object)).Draw(t, "conditions"), "status", "conditions")
		if len(conditions(e.Object)) == 0 {
			mixed = e.Object
		}
		after := health.Judge(mixed, e.knowledge(), now)
		require.Equal(t, before, after, e.name)
	})
}

// garbage draws any value of JSON.
func garbage() *rapid.Generator[any] {
	keys := rapid.SampledFrom([]string{"conditions", "type", "status", "phase", "observedGeneration", "replicas", "readyReplicas", "ready", "name", "error", "reason"})
	return rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(
			rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.Int64(), func(n int64) any { return n }), rapid.Map(rapid.Float64(), func(n float64) any { return n }),
			rapid.Map(rapid.SliceOfN(garbage(), 0, 3), func(all []any) any { return all }),
			rapid.Map(rapid.MapOfN(keys, garbage(), 0, 4), func(all map[string]any) any { return all }),
		)
	})
}

// Garbage gets a verdict: it stops no other object (CONTENT.md H1).
func TestGarbage(t *testing.T) {
	all := examples(t)
	states := []health.State{health.Ready, health.InProgress, health.Failing, health.Suspended, health.Unknown}
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(all).Draw(t, "case")
		path := rapid.SampledFrom([][]string{{"status"}, {"metadata"}, {"spec"}, {"status", "conditions"}, {"status", "observedGeneration"}}).Draw(t, "path")
		v := health.Judge(with(e.Object, garbage().Draw(t, "value"), path...), e.knowledge(), now)
		require.Contains(t, states, v.State)
		require.NotEmpty(t, v.Rule)
	})
}
