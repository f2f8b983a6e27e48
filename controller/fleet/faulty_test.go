package fleet

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
)

// spoil gives an integration a value that cannot be passed on to the chart.
func (w *world) spoil(integration string) {
	name := integration + ".yml"
	w.files[name] = strings.Replace(w.files[name], "spec: {", `spec: {extraArgs: "\n  --first\n", `, 1)
}

// An entry that cannot be passed on to the chart holds its own member, and no other (FLEET.md D1).
func TestFaultyEntryHoldsItsMember(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "1")
	w.runs("b", "1")
	r := w.process()
	w.settle(r)
	w.runs("c", "1")
	w.spoil("a")
	w.settle(r)
	assert.Equal(t, []string{"", "a", "b", "c"}, slices.Sorted(maps.Keys(w.members())))
	assert.Equal(t, "DataFaulty", w.why())
	require.Len(t, w.set.Status.Faults, 1)
	assert.Contains(t, w.set.Status.Faults[0], "/a.yml:4: cannot write values: a text of several lines begins with white space")

	w.runs("a", "1")
	w.files["ns.yml"] = strings.Replace(w.files["ns.yml"], "{name: prod}", "{name: prod, parameters: {RATIO: .nan}}", 1)
	require.NoError(t, w.round(r))
	assert.Equal(t, "DataFaulty", w.why())
	assert.Contains(t, w.set.Status.Faults[0], `cannot pass on parameter "RATIO" of environment "prod"`)
	assert.Len(t, w.members(), 4)
}

// Values of the set that cannot be written are the set's error.
func TestFaultyValuesOfTheSet(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "1")
	w.set.Spec.Chart.Values = &runtime.RawExtension{Raw: []byte(`{"note": "\n  x\n"}`)}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(w.process())
	assert.Equal(t, "InvalidSpec", w.why())
}

// An error of an entry does not give its member to another set that wants it (FLEET-DESIGN.md 6, 18).
func TestFaultyEntryMovesNoMember(t *testing.T) {
	w := newWorld(t)
	w.files["Chart.yaml"] = "apiVersion: v2\nname: chart\nversion: 1.0.0\n"
	w.files["values.schema.json"] = `{"properties": {"integrations": {"items": {"properties": {"extraArgs": {"maxLength": 9}}}}}}`
	w.runs("a", "1")
	first := w.set
	w.settle(w.process())
	w.another("other", "a")
	w.settle(w.process())
	w.set = first
	w.files["a.yml"] = strings.Replace(w.files["a.yml"], "spec: {", "spec: {extraArgs: --too-long-for-it, ", 1)
	require.NoError(t, w.round(w.process()))
	require.NoError(t, w.round(w.process()))
	assert.Equal(t, "prod", w.owners()["a"])
}

// A repository that failed and does not answer any more holds up no member but those whose image it tells (FLEET.md O1).
func TestSilentRepositoryHoldsItsMembers(t *testing.T) {
	w := newWorld(t)
	w.files["ns.yml"] = strings.Replace(w.files["ns.yml"], "{name: prod}",
		"{name: prod, parameters: {INTEGRATION_UPSTREAM_REPOS: [{repo: 'https://example.org/a', ref: main}]}}", 1)
	w.runs("a", "1")
	w.files["a.yml"] += "upstream: https://example.org/a\n"
	r := w.process()
	var looked atomic.Int64
	r.Contents.Fetching = func(ctx context.Context, _ io.Reader, _ io.Writer) error {
		if looked.Add(1) == 1 {
			return errors.New("connection refused")
		}
		<-ctx.Done()
		return ctx.Err()
	}
	for range 3 {
		require.NoError(t, w.round(r))
	}
	require.Equal(t, "DataFaulty", w.why())
	w.runs("b", "1")
	for range 3 {
		require.NoError(t, w.round(r))
	}
	require.Greater(t, looked.Load(), int64(1))
	assert.Contains(t, w.members(), "b")
	assert.Equal(t, "DataFaulty", w.why())
	assert.Contains(t, w.set.Status.Faults[0], "connection refused")
	r.pool.Forget(types.NamespacedName{Namespace: "fleet", Name: "prod/git+https://example.org/a@main"})
}

// A repository that has never answered holds up the members whose image it tells, and the waves behind them (FLEET.md O1
// and O3).
func TestRepositoryThatNeverAnswers(t *testing.T) {
	w := newWorld(t)
	w.files["ns.yml"] = strings.Replace(w.files["ns.yml"], "{name: prod}",
		"{name: prod, parameters: {INTEGRATION_UPSTREAM_REPOS: [{repo: 'https://example.org/a', ref: main}]}}", 1)
	for integration := range strings.FieldsSeq("a b c d") {
		w.runs(integration, "1")
	}
	w.files["a.yml"] += "upstream: https://example.org/a\n"
	w.files["d.yml"] += "upstream: https://example.org/a\n"
	w.change(func(s *v1alpha1.IntegrationSet) {
		s.Spec.Waves = []v1alpha1.IntegrationWave{{Integrations: []string{"a", "b", "d"}}}
	})
	r := w.process()
	r.Contents.Fetching = func(ctx context.Context, _ io.Reader, _ io.Writer) error {
		<-ctx.Done()
		return ctx.Err()
	}
	w.settle(r)
	assert.Equal(t, []string{"", "b"}, slices.Sorted(maps.Keys(w.members())))
	assert.Equal(t, "MembersProgressing", w.why())
	assert.Contains(t, meta.FindStatusCondition(w.set.Status.Conditions, "Reconciling").Message,
		"members ready: 2 of 5; a in /ns.yml: still looking up git+https://example.org/a@main")
	require.Len(t, w.set.Status.Waits, 3)
	assert.Contains(t, w.set.Status.Waits[2].Message, "waits for a in /ns.yml of wave 1")
	r.pool.Forget(types.NamespacedName{Namespace: "fleet", Name: "prod/git+https://example.org/a@main"})
}
