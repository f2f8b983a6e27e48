package helm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		"Test":       {why: "nobody asked for a test", object: object("v1", "Pod", "a", "helm.sh/hook", "test"), note: "Pod a is a Helm test and is skipped"},
		"Delete":     {why: "nothing runs then", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-delete"), fault: `hook "pre-delete" of Job a: nothing runs then`},
		"AlsoDelete": {why: "half of it is not enough", object: object("batch/v1", "Job", "a", "helm.sh/hook", "post-install,post-delete"), fault: "nothing runs then"},
		"Upgrade":    {why: "it must not run at first", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-upgrade"), fault: "nothing runs then"},
		"Rollback":   {why: "nothing runs then", object: object("batch/v1", "Job", "a", "helm.sh/hook", "post-rollback"), fault: "nothing runs then"},
		"Unknown":    {why: "of an older Helm", object: object("v1", "Pod", "a", "helm.sh/hook", "crd-install"), fault: `"crd-install"`},
		"TwoTimes":   {why: "which?", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-install,post-upgrade"), fault: "two times"},
		"Around":     {why: "which?", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-install,post-install"), fault: "two times"},
		"Weight":     {why: "no number", object: object("batch/v1", "Job", "a", "helm.sh/hook", "pre-install", "helm.sh/hook-weight", "heavy"), fault: `weight "heavy"`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			before, err := tc.object.Canonical()
			require.NoError(t, err)
			got, notes, err := helm.Hooks([]bundle.Object{tc.object})
			after, problem := tc.object.Canonical()
			require.NoError(t, problem)
			assert.Equal(t, string(before), string(after), "what is given stays as it is")
			if tc.fault != "" {
				require.ErrorContains(t, err, tc.fault, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			if tc.note != "" {
				assert.Equal(t, []string{tc.note}, notes, tc.why)
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
		job("e", "post-install", "1"), job("f", "post-install", "2"),
	})
	require.NoError(t, err)
	after := map[string]string{}
	for _, o := range got {
		after[o.ID().Name] = o.Annotation("orcon.tengu.io/after")
	}
	assert.Equal(t, map[string]string{"a": "", "b": "Job.batch/a", "c": "Job.batch/a", "d": "Job.batch/b,Job.batch/c", "e": "", "f": "Job.batch/e"}, after)
}
