package helm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/helm"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// object returns an object with annotations, given as key and value in turn.
func object(apiVersion, kind, name string, annotations ...string) bundle.Object {
	all := map[string]any{}
	for i := 0; i < len(annotations); i += 2 {
		all[annotations[i]] = annotations[i+1]
	}
	metadata := map[string]any{"name": name}
	if len(all) > 0 {
		metadata["annotations"] = all
	}
	return bundle.Object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}

// CONTENT.md X2: whether a kind runs is asked before when it runs.
func TestHooks(t *testing.T) {
	const phase, run = "orcon.tengu.io/phase", "orcon.tengu.io/run-policy"
	tests := map[string]struct {
		why    string
		object bundle.Object
		// want is what comes of it; nil where it is left out or refused.
		want        bundle.Object
		note, fault string
	}{
		"None":       {why: "no hook", object: object("v1", "Secret", "a", "b", "c"), want: object("v1", "Secret", "a", "b", "c")},
		"Before":     {why: "a job of each revision, before what uses its work", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-install, pre-upgrade"), want: object("batch/v1", "Job", "a", phase, "storage", run, "Always")},
		"Once":       {why: "a job of the installation", object: object("batch/v1", "Job", "a", "helm.sh/hook", "post-install"), want: object("batch/v1", "Job", "a", phase, "jobs", run, "Once")},
		"Said":       {why: "whoever gives it a policy is right", object: object("batch/v1", "Job", "a", "helm.sh/hook", "post-install", run, "OnChange"), want: object("batch/v1", "Job", "a", phase, "jobs", run, "OnChange")},
		"Pod":        {why: "it runs too", object: object("v1", "Pod", "a", "helm.sh/hook", "post-install"), want: object("v1", "Pod", "a", phase, "jobs")},
		"Config":     {why: "its kind says when", object: object("v1", "ConfigMap", "a", "helm.sh/hook", "pre-install", "helm.sh/hook-weight", "-1"), want: object("v1", "ConfigMap", "a")},
		"Author":     {why: "whoever gives it a phase is right", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-delete", phase, "jobs"), want: object("batch/v1", "Job", "a", phase, "jobs")},
		"WayBack":    {why: "a way back is a revision like others", object: object("batch/v1", "Job", "a", "helm.sh/hook", "post-install,post-upgrade,post-rollback"), want: object("batch/v1", "Job", "a", phase, "jobs", run, "Always")},
		"Test":       {why: "nobody asked for a test", object: object("v1", "Pod", "a", "helm.sh/hook", "test"), note: "Pod a is a Helm test and is left out"},
		"TestConfig": {why: "what a test alone needs", object: object("v1", "ServiceAccount", "a", "helm.sh/hook", "test"), note: "ServiceAccount a is a Helm test and is left out"},
		"Several":    {why: "an account of hooks of several events is there all the time", object: object("v1", "ServiceAccount", "a", "helm.sh/hook", "pre-install,post-upgrade,pre-delete"), want: object("v1", "ServiceAccount", "a")},
		"Delete":     {why: "it runs when everything goes", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-delete"), want: object("batch/v1", "Job", "a", phase, "jobs", run, "OnUninstall")},
		"DeleteRole": {why: "the Job of the uninstallation needs it", object: object("rbac.authorization.k8s.io/v1", "Role", "a", "helm.sh/hook", "pre-delete"), want: object("rbac.authorization.k8s.io/v1", "Role", "a")},
		"AfterAll":   {why: "nothing is left then", object: object("batch/v1", "Job", "a", "helm.sh/hook", "post-delete"), note: "Job a is a hook of post-delete only: nothing runs then here, and it is left out"},
		"AfterRole":  {why: "nor what it needs", object: object("rbac.authorization.k8s.io/v1", "Role", "a", "helm.sh/hook", "post-delete"), note: "hook of post-delete only"},
		"AlsoAfter":  {why: "it runs when it can", object: object("batch/v1", "Job", "a", "helm.sh/hook", "post-install,post-delete"), want: object("batch/v1", "Job", "a", phase, "jobs", run, "Once")},
		"Upgrade":    {why: "it must not run at first", object: object("batch/v1", "Job", "a", "helm.sh/hook", "post-upgrade"), want: object("batch/v1", "Job", "a", phase, "jobs", run, "OnUpgrade")},
		"PreUpgrade": {why: "it must not run at first", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-upgrade,pre-rollback"), want: object("batch/v1", "Job", "a", phase, "storage", run, "OnUpgrade")},
		"PodUpgrade": {why: "a Pod runs when it is created", object: object("v1", "Pod", "a", "helm.sh/hook", "post-upgrade"), fault: "make it a Job"},
		"Rollback":   {why: "a way back is a revision like others", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-rollback,post-rollback"), note: "hook of pre-rollback and post-rollback only"},
		"Old":        {why: "of an older Helm", object: object("v1", "Pod", "a", "helm.sh/hook", "crd-install"), note: "hook of crd-install only"},
		"Unknown":    {why: "misspelt", object: object("v1", "Pod", "a", "helm.sh/hook", "post-instal"), fault: `event "post-instal" is unknown, did you mean "post-install"?`},
		"TwoTimes":   {why: "which?", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-install,post-upgrade"), fault: "two times: turn it off in the values, leave it out by its name (--skip-hook Job/a, or spec.render.skipHooks)"},
		"Around":     {why: "which?", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-install,post-install"), fault: "two times"},
		"Throughout": {why: "which?", object: object("batch/v1", "Job", "a", "helm.sh/hook", "post-install,pre-delete"), fault: "two times"},
		"Weight":     {why: "no number", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-install", "helm.sh/hook-weight", "heavy"), fault: `weight "heavy"`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			before, err := tc.object.Canonical()
			require.NoError(t, err)
			got, notes, err := helm.Hooks([]bundle.Object{tc.object}, "")
			after, problem := tc.object.Canonical()
			require.NoError(t, problem)
			assert.Equal(t, string(before), string(after), "what is given stays as it is")
			if tc.fault != "" {
				require.ErrorContains(t, err, tc.fault, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			if tc.note != "" {
				require.Len(t, notes, 1, tc.why)
				assert.Contains(t, notes[0], tc.note, tc.why)
				assert.Empty(t, got, tc.why)
				return
			}
			assert.Equal(t, []bundle.Object{tc.want}, got, tc.why)
		})
	}
}

// Weights become edges: each waits for all of the next lower weight of its phase.
func TestHooksOrder(t *testing.T) {
	job := func(name, event, weight string) bundle.Object {
		return object("batch/v1", "Job", name, "helm.sh/hook", event, "helm.sh/hook-weight", weight)
	}
	got, _, err := helm.Hooks([]bundle.Object{
		job("d", "pre-install", "10"), job("a", "pre-install", "-1"), job("b", "pre-install", "0"), job("c", "pre-install", "0"),
		job("e", "post-install", "1"), job("f", "post-install", "2"), job("g", "pre-delete", "3"), job("h", "pre-delete", "4"),
	}, "shop")
	require.NoError(t, err)
	after := map[string]string{}
	for _, o := range got {
		after[o.ID().Name] = o.Annotation("orcon.tengu.io/after")
	}
	assert.Equal(t, map[string]string{"a": "", "b": "Job.batch/a", "c": "Job.batch/a", "d": "Job.batch/b,Job.batch/c", "e": "", "f": "Job.batch/e", "g": "", "h": "Job.batch/g"}, after)
}

// CONTENT.md X2: in whatever order events are written, the same becomes of a hook: it is an object, left out or refused.
func TestHooksOfAnyEvents(t *testing.T) {
	events := []string{"pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-delete", "post-delete", "pre-rollback", "test", "crd-install"}
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(events), 1, len(events), rapid.ID).Draw(t, "events")
		kind := rapid.SampledFrom([]string{"batch/v1 Job", "v1 Pod", "v1 ServiceAccount"}).Draw(t, "kind")
		version, name, _ := strings.Cut(kind, " ")
		outcome := func(events []string) (string, int) {
			kept, notes, err := helm.Hooks([]bundle.Object{object(version, name, "a", "helm.sh/hook", strings.Join(events, ", "))}, "")
			if err != nil {
				require.Empty(t, notes)
				return "refused", 0
			}
			require.Equal(t, 1, len(kept)+len(notes))
			if len(kept) == 0 {
				return "left out", 0
			}
			return kept[0].Annotation("orcon.tengu.io/phase") + " " + kept[0].Annotation("orcon.tengu.io/run-policy"), 1
		}
		first, kept := outcome(chosen)
		second, _ := outcome(slices.Sorted(slices.Values(chosen)))
		require.Equal(t, first, second)
		if name == "ServiceAccount" {
			require.NotEqual(t, "refused", first, "what does not run is never refused")
		}
		useful := slices.ContainsFunc(chosen, func(event string) bool { return slices.Index(events, event) < 5 })
		require.Equal(t, useful, kept == 1 || first == "refused", "what exists for other events alone is left out")
	})
}

// CONTENT.md X2: hooks are left out by their names; a name that no hook has is refused with the nearest one.
func TestHooksAreLeftOut(t *testing.T) {
	all := []bundle.Object{
		object("batch/v1", "Job", "migrate", "helm.sh/hook", "pre-install,post-install"), object("v1", "Secret", "key", "helm.sh/hook", "pre-install"),
		object("v1", "Secret", "plain"),
	}
	tests := map[string]struct {
		why, skip string
		kept      int
		want      string
	}{
		"Job":     {why: "one that could not be used", skip: "Job/migrate", kept: 2},
		"Group":   {why: "with its group", skip: "Job.batch/migrate", kept: 2},
		"Another": {why: "a group that it has not", skip: "Job.example.org/migrate", want: `"Job.example.org/migrate": no hook has this name: its hooks are Job/migrate, Secret/key`},
		"Several": {why: "as in other lists", skip: "Job/migrate, Secret/key", kept: 1},
		"Near":    {why: "misspelt", skip: "Job/migrat", want: `cannot leave out hook "Job/migrat": no hook has this name: did you mean "Job/migrate"?`},
		"NoHook":  {why: "an object that is no hook", skip: "ConfigMap/of-something-else", want: "its hooks are Job/migrate, Secret/key"},
		"NoName":  {why: "neither kind nor name", skip: "migrate", want: `cannot leave out a hook: "migrate" names no object`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			kept, notes, err := helm.Hooks(all, "", tc.skip)
			if tc.want != "" {
				require.ErrorContains(t, err, tc.want, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			assert.Len(t, kept, tc.kept, tc.why)
			assert.Len(t, notes, len(all)-tc.kept, tc.why)
		})
	}
	_, _, err := helm.Hooks(all[2:], "", "Job/migrate")
	require.ErrorContains(t, err, "the chart has no hook: remove the name")
}

// A hook of another namespace waits for one that names none, as the release's namespace makes it known.
func TestHooksOfOtherNamespaces(t *testing.T) {
	first := object("batch/v1", "Job", "first", "helm.sh/hook", "post-install")
	second := object("batch/v1", "Job", "second", "helm.sh/hook", "post-install", "helm.sh/hook-weight", "1")
	second["metadata"].(map[string]any)["namespace"] = "kube-system"
	got, _, err := helm.Hooks([]bundle.Object{first, second}, "shop")
	require.NoError(t, err)
	placed, err := bundle.Place(got, "shop", func(string, string) (bool, bool, error) { return true, true, nil })
	require.NoError(t, err)
	sequence, err := bundle.Order(placed)
	require.NoError(t, err)
	assert.Equal(t, []string{"first", "second"}, []string{sequence[0].Origin.Name, sequence[1].Origin.Name})
}
