package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A person confirms what is held, by its name, and nothing else (BUNDLES.md 4).
func TestConfirm(t *testing.T) {
	held := bundle.Hold{Reason: bundle.Confirm, Objects: []bundle.ID{id("PersistentVolumeClaim data"), {Kind: "PersistentVolumeClaim", Namespace: "mail", Name: "data"}, id("Namespace old")}}
	p := bundle.Plan{Digest: "d", Holds: []bundle.Hold{held}}

	a, err := p.Confirm("Namespace/old", "PersistentVolumeClaim/shop/data")
	require.NoError(t, err)
	assert.Equal(t, bundle.Approval{PlanDigest: "d", Confirmed: []bundle.ID{held.Objects[2], held.Objects[0]}}, a)

	for _, wrong := range []string{"Namespace/new", "PersistentVolumeClaim/data", "old", ""} {
		_, err := p.Confirm(wrong)
		require.Error(t, err, wrong)
	}
	assert.Equal(t, []string{"--confirm PersistentVolumeClaim/shop/data", "--confirm PersistentVolumeClaim/mail/data", "--confirm Namespace/old"}, held.Flags())

	a, err = p.Confirm(held.Flags()[0][len("--confirm "):])
	require.NoError(t, err)
	assert.Equal(t, held.Objects[:1], a.Confirmed, "what is shown to be confirmed can be")
}

func TestParseConflictPolicy(t *testing.T) {
	for text, want := range map[string]bundle.ConflictPolicy{"": bundle.Prevent, "Prevent": bundle.Prevent, "AdoptUnowned": bundle.AdoptUnowned, "Take": bundle.TakeAll} {
		got, err := bundle.ParseConflictPolicy(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := bundle.ParseConflictPolicy("take")
	require.ErrorContains(t, err, "Take")
}

// What is in the way on a command line is said with its flag, and counted (BUNDLES.md 5).
func TestBlocked(t *testing.T) {
	web := bundle.Conflict{ID: id("Deployment web"), Holder: "", Cure: bundle.AdoptUnowned}
	require.NoError(t, bundle.Plan{}.Blocked())
	err := bundle.Plan{Conflicts: []bundle.Conflict{web}}.Blocked()
	require.EqualError(t, err, "cannot carry out the plan: 1 conflict: "+web.ID.String()+
		" already exists and is not managed by Orcon: delete it, rename it in the bundle, or make it part of this deployment (--conflicts AdoptUnowned)")
	for _, costly := range []string{"CustomResourceDefinition relations.orcon.tengu.io", "Namespace shop", "PersistentVolumeClaim data"} {
		one := bundle.Conflict{ID: id(costly), Cure: bundle.AdoptUnowned}
		assert.Equal(t, one.ID.String()+" already exists and is not managed by Orcon: make it part of this deployment (--conflicts "+
			"AdoptUnowned), or rename it in the bundle; deleting it deletes data", one.Words("--conflicts "))
		one.Cure = ""
		assert.Contains(t, one.String(), "cannot be changed in place: rename it in the bundle, or delete it with its data")
	}
	err = bundle.Plan{Conflicts: []bundle.Conflict{web, web}}.Confirmed(bundle.Approval{})
	require.ErrorContains(t, err, "2 conflicts, the first: ")
}

// A rollback without a number goes to what was healthy and is something else.
func TestEarlier(t *testing.T) {
	record := bundle.Record{Revisions: []bundle.Revision{
		{Number: 1, Content: 1, Healthy: true, ManifestDigest: "a"},
		{Number: 2, Content: 2, Healthy: true, ManifestDigest: "b"},
		{Number: 3, Content: 3, ManifestDigest: "c", State: bundle.StateFailed},
		{Number: 4, Content: 2, Healthy: true, ManifestDigest: "b", State: bundle.StateSucceeded},
	}}
	for revision, want := range map[int]int{0: 1, 1: 1, 3: 3, 4: 2} {
		got, err := record.Earlier(revision)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := record.Earlier(9)
	require.ErrorContains(t, err, "cannot go back to revision 9: the record does not have it: it has 4, 3, 2, 1")
	record.Quarantined = []string{"a", "c"}
	_, err = record.Earlier(3)
	require.ErrorIs(t, err, bundle.ErrQuarantined, "what has failed is not tried again")
	_, err = record.Earlier(0)
	require.ErrorContains(t, err, "cannot go back: no other revision succeeded")
	_, err = bundle.Record{Revisions: record.Revisions[:1]}.Earlier(0)
	require.Error(t, err, "there is nothing else")
}
