package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health/library"
)

// example is a case of package health.
type example struct {
	file string

	library.Case
}

// examples reads the cases of package health, of both sets, once.
var examples = sync.OnceValue(func() []example { //nolint:gochecknoglobals // a constant
	var all []example
	for _, set := range []string{"", "second/"} {
		files, _ := filepath.Glob("../../../domain/health/testdata/" + set + "*/*/*.yaml") // the pattern is well formed
		for _, file := range files {
			text, err := os.ReadFile(file)
			one, fault := library.ParseCase(file, text)
			if err := errors.Join(err, fault); err != nil {
				panic(err)
			}
			all = append(all, example{strings.TrimPrefix(file, "../../../domain/health/testdata/"), one})
		}
	}
	return all
})

// judge returns the verdict about a case with a library.
func (e example) judge(l *policy.Library) health.Verdict { return e.judgeAs(e.Object, l) }

// judgeAs returns the verdict about another object of the case's kind.
func (e example) judgeAs(o map[string]any, l *policy.Library) health.Verdict {
	k := health.Knowledge{Library: l.Probe}
	if e.Definition.Status != nil && !*e.Definition.Status {
		k.Status = health.Absent
	}
	return health.Judge(o, k, time.Unix(0, 0))
}

// Every case of a kind with a shipped probe gets the verdict that it wants (CONTENT.md H4).
func TestShippedProbes(t *testing.T) {
	l, err := policy.Shipped()
	require.NoError(t, err)
	probed := 0
	for _, e := range examples() {
		if _, known := l.Probe(e.Object); !known {
			continue
		}
		probed++
		v := e.judge(l)
		assert.Equal(t, e.Want, string(v.State), "%s: %s (%s)", e.file, v.Says, v.Rule)
		assert.Contains(t, v.Says, e.Says, e.file)
		assert.Equal(t, v.State == health.Ready, v.Says == "", "%s: %q", e.file, v.Says)
	}
	assert.Greater(t, probed, 60)
}

// Each reconcile needs the shipped probes, and to compile them is more work than all else that it does.
func TestShippedProbesAreCompiledOnce(t *testing.T) {
	first, err := policy.Shipped()
	require.NoError(t, err)
	second, err := policy.Shipped()
	require.NoError(t, err)
	if first != second { // assert.Same would print all of them
		t.Error("they are compiled again")
	}
}

// Each case that asks for words gets them, whatever rule judges it (CONTENT.md H4).
func TestWords(t *testing.T) {
	l, err := policy.Shipped()
	require.NoError(t, err)
	for _, e := range examples() {
		assert.Contains(t, e.judge(l).Says, e.Says, e.file)
	}
}

// With the library, and with the probes of each group left out in turn, 5 % of the states that are not ready
// are called so at worst, 25 % of those that are are missed, and 60 % of failures are recognised (CONTENT.md H4).
func TestLibraryIsRight(t *testing.T) {
	probes, err := library.Probes()
	require.NoError(t, err)
	l, err := policy.CompileLibrary(probes)
	require.NoError(t, err)
	none, err := policy.CompileLibrary(nil)
	require.NoError(t, err)
	groups := map[string]bool{"none": true}
	for _, p := range probes {
		groups[p.Group] = true
	}
	with, without := map[string]health.State{}, map[string]health.State{}
	for _, e := range examples() {
		with[e.file], without[e.file] = e.judge(l).State, e.judge(none).State
	}
	for left := range groups {
		unready, falselyReady, ready, missed, failing, recognised := 0, 0, 0, 0, 0, 0
		for _, e := range examples() {
			got, want := with[e.file], health.State(e.Want)
			if group(e.Object) == left {
				got = without[e.file]
			}
			count := func(n *int, is bool) {
				if is {
					*n++
				}
			}
			count(&ready, want == health.Ready)
			count(&missed, want == health.Ready && got != health.Ready)
			count(&unready, want != health.Ready)
			count(&falselyReady, want != health.Ready && got == health.Ready)
			count(&failing, want == health.Failing)
			count(&recognised, want == health.Failing && got == health.Failing)
		}
		t.Logf("without the probes of %s: falsely ready %d of %d, missed %d of %d, failures recognised %d of %d",
			left, falselyReady, unready, missed, ready, recognised, failing)
		assert.LessOrEqual(t, falselyReady*100, unready*5, "falsely ready without %s", left)
		assert.LessOrEqual(t, missed*100, ready*25, "missed without %s", left)
		assert.GreaterOrEqual(t, recognised*100, failing*60, "failures recognised without %s", left)
	}
}

func TestLibrary(t *testing.T) {
	l, err := policy.CompileLibrary([]library.Probe{{Group: "race.example.org", Kind: "Engine", Versions: []string{"v2"},
		Ready: "object.status.running", Suspended: "object.spec.parked", Says: "object.status.text"}})
	require.NoError(t, err)
	engine := func(version string, status map[string]any) map[string]any {
		return map[string]any{"apiVersion": "race.example.org/" + version, "kind": "Engine", "spec": map[string]any{"parked": status["parked"]}, "status": status}
	}
	_, known := l.Probe(engine("v1", map[string]any{"running": true}))
	assert.False(t, known, "another version is another API")
	o, known := l.Probe(engine("v2", map[string]any{"running": true}))
	assert.True(t, known)
	assert.Equal(t, health.Ready, o.State)
	o, _ = l.Probe(engine("v2", map[string]any{"running": false, "text": "no fuel"}))
	assert.Equal(t, health.Opinion{State: health.InProgress, Says: "no fuel", Otherwise: "waits for object.status.running", Rule: "Orcon's probe of Engine"}, o)
	o, _ = l.Probe(engine("v2", nil))
	assert.Empty(t, o.Says, "there is nothing to quote yet")
	o, _ = l.Probe(engine("v2", map[string]any{"running": true, "parked": true}))
	assert.Equal(t, health.Suspended, o.State)

	_, err = policy.CompileLibrary([]library.Probe{{Group: "race.example.org", Kind: "Engine", Ready: "object.", Says: "1"}})
	require.ErrorContains(t, err, "cannot use probe race.example.org/Engine.yaml, ready: line 1")
	assert.ErrorContains(t, err, "says: it returns int: write an expression that returns a text")
}

// What is suspended because its own spec asks for it holds nothing up (CONTENT.md H3).
func TestIntendedSuspension(t *testing.T) {
	l, err := policy.Shipped()
	require.NoError(t, err)
	want := map[string]bool{
		"kubeflow.org/TFJob/suspended.yaml": true, "kubeflow.org/MPIJob/suspended.yaml": true, "ray.io/RayJob/suspended.yaml": true,
		"postgres-operator.crunchydata.com/PostgresCluster/shutdown.yaml": true, "second/kubedb.com/Postgres/halted.yaml": true,
		"second/milvus.io/Milvus/stopped.yaml": false, "k8s.mariadb.com/Restore/suspended.yaml": false,
	}
	for _, e := range examples() {
		if intended, listed := want[e.file]; listed {
			assert.Equal(t, intended, e.judge(l).Intended(), e.file)
			delete(want, e.file)
		}
	}
	assert.Empty(t, want)
}
