package bundle_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// label is the path of the label as changes have it.
const label = "metadata.labels." + bundle.DeploymentKey

// What is applied has the label of its deployment, and its pods have not.
func TestLabel(t *testing.T) {
	tests := map[string]struct {
		why, owner string
		want       any
	}{
		"Name": {"it names the deployment", "shop/store", "store"},
		"Long": {"the API server takes no longer label", "shop/" + strings.Repeat("a", 64), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			author := object("Deployment web", map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{}}}})
			look := order(t, author).Look(test.owner, bundle.Record{}, nil)
			require.Len(t, look.Compare, 1)
			assert.Equal(t, test.want, look.Compare[0].At("metadata", "labels", bundle.DeploymentKey), test.why)
			assert.Equal(t, author["spec"], look.Compare[0]["spec"], "pods stay as they are")
		})
	}
	labelled := object("Service web")
	labelled["metadata"].(map[string]any)["labels"] = map[string]any{bundle.DeploymentKey: "other"}
	_, err := bundle.Order([]bundle.Object{labelled})
	assert.ErrorContains(t, err, "cannot read label orcon.tengu.io/deployment of Service shop/web: only Orcon writes it: remove it")
}

// An object that lacks nothing but its label is neither drift nor a change of a plan, and is
// labelled at the next look.
func TestLabelIsNoDrift(t *testing.T) {
	missing := bundle.Change{Path: label, After: `"store"`}
	forged := bundle.Change{Path: label, Before: `"other"`, After: `"store"`, Manager: "kubectl-label"}
	edited := bundle.Change{Path: "data.colour", Before: `"red"`, After: `"blue"`, Ours: true}
	pods := bundle.Change{Path: "spec.template." + label, Before: `"red"`, Ours: true}
	tests := map[string]struct {
		why     string
		changes []bundle.Change
		// relabel and apply are how many objects are written, force the paths taken from others.
		relabel, apply int
		force          []string
		drift          []bundle.Drifted
	}{
		"Same":    {why: "nothing is written"},
		"Missing": {why: "an earlier version applied it", changes: []bundle.Change{missing}, relabel: 1},
		"Forged":  {why: "the label belongs to Orcon", changes: []bundle.Change{forged}, relabel: 1, force: []string{label}},
		"Pods":    {why: "it is another label", changes: []bundle.Change{pods}, apply: 1, drift: []bundle.Drifted{{ID: id("ConfigMap settings"), Fields: []string{pods.Path}}}},
		"Edited":  {why: "both in one write", changes: []bundle.Change{edited, missing}, apply: 1, drift: []bundle.Drifted{{ID: id("ConfigMap settings"), Fields: []string{"data.colour"}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			settings := object("ConfigMap settings")
			record, live := inventory(t, settings)
			item := order(t, settings)[0]
			live[item.ID] = applied(item, func(l *bundle.Live) { l.Changes = test.changes })
			p := draft(t, live, func(in *bundle.Intent) { in.Record = record }, settings)
			assert.Empty(t, p.Conflicts, test.why)
			assert.Equal(t, test.apply > 0, p.Changes(), test.why)
			next := bundle.Correct(p, record, live, bundle.Pace{Now: noon()})
			assert.Len(t, next.Apply, test.apply, test.why)
			assert.Len(t, next.Relabel, test.relabel, test.why)
			for _, w := range next.Relabel {
				assert.Equal(t, "store", w.Object.At("metadata", "labels", bundle.DeploymentKey))
				assert.Equal(t, test.force, w.Force, test.why)
			}
			assert.Equal(t, test.drift, next.Drifted(live), test.why)
			assert.Equal(t, test.drift == nil, next.Outcome == bundle.Succeeded, test.why)
			assert.Equal(t, test.drift == nil, bundle.Drift(p, record, live) == nil, test.why)
		})
	}
}

// The label is neither ignored with the labels that others set, nor a difference for an account
// that may not try.
func TestLabelIsAlwaysWritten(t *testing.T) {
	want := order(t, object("ConfigMap settings")).Look(owner, bundle.Record{}, nil).Compare[0]
	live := object("ConfigMap settings", "bundle="+owner, "digest="+want.Annotation(bundle.DigestKey))
	live["metadata"].(map[string]any)["labels"] = map[string]any{"team": "blue"}
	ignore := bundle.Ignore{APIVersion: "v1", Kind: "ConfigMap", Paths: []string{"metadata.labels"}}
	settled := bundle.Settle(want, live, []bundle.Ignore{ignore})
	assert.Equal(t, map[string]any{"team": "blue", bundle.DeploymentKey: "store"}, settled.At("metadata", "labels"))
	assert.Empty(t, bundle.Expected(live, want))
	delete(live["metadata"].(map[string]any), "labels")
	assert.Empty(t, bundle.Expected(live, want))
}
