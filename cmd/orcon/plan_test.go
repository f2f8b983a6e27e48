package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestPrintPlan(t *testing.T) {
	settings, old := bundle.ID{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, bundle.ID{Kind: "Namespace", Name: "old"}
	p := bundle.Plan{
		Digest:   "0123456789abcdef",
		Sequence: bundle.Sequence{{Object: bundle.Object{"data": "hunter2"}}},
		Actions: []bundle.Action{
			{Verb: bundle.Update, ID: settings, Phase: bundle.Configuration, Force: []string{"data.a"}, Changes: []bundle.Change{
				{Path: "data.a", Before: `"1"`, After: `"2"`, Manager: "kubectl-edit"}, {Path: "data.b", After: `"new"`}, {Path: "data.c", Before: `"old"`},
			}},
			{Verb: bundle.None, ID: bundle.ID{Kind: "Service", Name: "web"}},
			{Verb: bundle.Delete, ID: old, Phase: bundle.Namespaces, Why: "no longer part of the bundle"},
		},
		Grants: []bundle.Grant{{To: "User eve", Rule: bundle.Rule{Verbs: []string{"get"}, Groups: []string{""}, Resources: []string{"secrets"}}, Role: bundle.ID{Kind: "ClusterRole", Name: "spy"}}},
		Holds:  []bundle.Hold{{Reason: bundle.Confirm, Objects: []bundle.ID{old}}},
	}
	var out bytes.Buffer
	require.NoError(t, printPlan(screen{out: &out, verbose: true}, p, nil))
	for _, line := range []string{
		"update   ConfigMap shop/settings", "takes over data.a",
		`data.a: "1" (set by kubectl-edit) → "2"`, `data.b: + "new"`, `data.c: - "old"`,
		"delete   Namespace old", "grants: User eve may now read secrets in every namespace (ClusterRole spy)", "--confirm Namespace/old", "1 to update, 1 to delete, 1 unchanged; plan 0123456789ab",
	} {
		assert.Contains(t, out.String(), line)
	}

	out.Reset()
	require.NoError(t, printPlan(screen{out: &out}, p, []string{"Namespace/old"}))
	assert.NotContains(t, out.String(), "held:", "it is confirmed")

	out.Reset()
	o := installOptions{output: output{format: asJSON}}
	require.NoError(t, o.print(screen{out: &out}, p))
	assert.Contains(t, out.String(), `"verb": "update"`)
	assert.NotContains(t, out.String(), "hunter2", "BUNDLES.md 10: objects hold what Secrets hold")
}

// A change at the end of a long value is shown.
func TestDifference(t *testing.T) {
	same := strings.Repeat("é", 100)
	tests := map[string]struct {
		why    string
		change bundle.PreviewChange
		want   string
	}{
		"Short":  {"whole", bundle.PreviewChange{Before: "quay.io/team/integration-of-some-name:v1", After: "quay.io/team/integration-of-some-name:v2"}, "quay.io/team/integration-of-some-name:v1 → quay.io/team/integration-of-some-name:v2"},
		"End":    {"what both begin with is cut", bundle.PreviewChange{Before: same + "a", After: same + "b", Manager: "x"}, "…" + same[:30] + "a (set by x) → …" + same[:30] + "b"},
		"Longer": {"one is the beginning of the other", bundle.PreviewChange{Before: same, After: same + "b"}, "…" + same[:30] + " → …" + same[:30] + "b"},
		"Begin":  {"the end is cut", bundle.PreviewChange{Before: "a" + same, After: "b"}, "a" + same[:118] + "… → b"},
		"New":    {"one text", bundle.PreviewChange{After: same}, "+ " + same[:120] + "…"},
		"Gone":   {"one text", bundle.PreviewChange{Before: same, Manager: "x"}, "- " + same[:120] + "… (set by x)"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) { assert.Equal(t, tc.want, difference(tc.change), tc.why) })
	}
}

// Thirty permissions of one account are one line, and what gives everything is never hidden.
func TestGranted(t *testing.T) {
	grants := []bundle.PreviewGrant{
		{To: "ServiceAccount a", Words: "a1"}, {To: "ServiceAccount a", Words: "a2"}, {To: "ServiceAccount a", Words: "a3"},
		{To: "ServiceAccount a", Words: "everything", Everything: true}, {To: "User b", Words: "b1"},
	}
	assert.Equal(t, []string{"ServiceAccount a gets 3 permissions (-v lists them)", "everything", "b1"}, granted(grants, false))
	assert.Equal(t, []string{"a1", "a2", "a3", "everything", "b1"}, granted(grants, true))
}
