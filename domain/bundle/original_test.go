package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// TRUST.md T9: the value of a field before is that before the deployment first set it.
func TestOverwrite(t *testing.T) {
	web := object("Deployment web")
	field := func(path string, value any) bundle.OriginalField {
		return bundle.OriginalField{Path: path, Value: value}
	}
	write := func(adopts bool, version string, fields ...bundle.OriginalField) bundle.Write {
		return bundle.Write{Object: web, ResourceVersion: version, Adopts: adopts, Fields: fields}
	}
	first := write(true, "7", field("image", "old"), field("args", nil))
	tests := map[string]struct {
		why    string
		before []bundle.Write
		last   bundle.Write
		want   []bundle.OriginalField
		same   bool
	}{
		"Own":     {why: "what the deployment made is deleted", last: write(false, "7", field("image", "old")), same: true},
		"Adopted": {why: "all that it sets is kept", last: first, want: first.Fields},
		"Again":   {why: "a second try that finds the same", before: []bundle.Write{first}, last: first, want: first.Fields, same: true},
		"Moved": {
			why: "the first write did not arrive, and others have changed it", before: []bundle.Write{first},
			last: write(true, "8", field("image", "newer")), want: []bundle.OriginalField{field("image", "newer")},
		},
		"Later": {
			why: "a revision sets one more field", before: []bundle.Write{first},
			last: write(false, "8", field("image", "ours"), field("replicas", 3)), want: append(first.Fields, field("replicas", 3)),
		},
		"Known":     {why: "it was set before", before: []bundle.Write{first}, last: write(false, "8", field("image", "ours")), want: first.Fields, same: true},
		"Recreated": {why: "what was there is gone", before: []bundle.Write{first}, last: write(false, "", field("image", nil))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, _ := bundle.Originals(nil).Overwrite(test.before)
			r, changed := r.Overwrite([]bundle.Write{test.last})
			assert.Equal(t, !test.same, changed, test.why)
			var want bundle.Originals
			if test.want != nil {
				want = bundle.Originals{{ID: web.ID(), Fields: test.want}}
			}
			assert.ElementsMatch(t, want, r, test.why)
		})
	}
}

// TRUST.md T9: an adopted object is given back when it leaves the bundle, when all is uninstalled and
// on the way back, and no person confirms that; nothing of it is deleted for what the record lacks.
func TestAdoptedObjectIsGivenBack(t *testing.T) {
	claim := object("PersistentVolumeClaim data")
	record, live := inventory(t, claim)
	record.Originals, _ = record.Originals.Overwrite([]bundle.Write{{Object: claim, ResourceVersion: "7", Adopts: true, Fields: []bundle.OriginalField{{Path: "size", Value: "1"}}}})
	for why, change := range map[string]func(*bundle.Intent){
		"it has left":   func(*bundle.Intent) {},
		"uninstalled":   func(in *bundle.Intent) { in.Uninstall = true },
		"on a way back": func(in *bundle.Intent) { in.Back = 1 },
	} {
		p := draft(t, live, func(in *bundle.Intent) { in.Record = record; change(in) })
		assert.Equal(t, []string{"give back PersistentVolumeClaim data"}, said(p), why)
		assert.Empty(t, p.Holds, why)
		pruned := bundle.Prune(p, record, live)
		assert.Equal(t, []bundle.Deletion{{ID: claim.ID(), UID: "uid-data", ResourceVersion: "7", Original: &record.Originals[0]}}, pruned.Delete, why)
		assert.Empty(t, bundle.NewRemoval(p), why)
		assert.Equal(t, pruned, bundle.Prune(record.Removing.Plan(owner, record), record, live), why)

		for _, originals := range []bundle.Originals{nil, {{ID: claim.ID(), Fields: []bundle.OriginalField{{Path: "size", Value: "2"}}}}} {
			forged := record
			forged.Originals = originals
			assert.Empty(t, bundle.Prune(p, forged, live).Delete, why)
			later := draft(t, live, func(in *bundle.Intent) { in.Record = forged; change(in) })
			assert.NotEqual(t, p.Digest, later.Digest, "TRUST.md R2: an approval is of these values")
		}
		assert.Empty(t, record.Drop(claim.ID()).Originals, why)
	}
}

// TRUST.md T9: an object that is taken from another deployment is the deployment's own, and has no values from before.
func TestTakenFromAnotherDeployment(t *testing.T) {
	web := object("Deployment web")
	for by, adopts := range map[string]bool{"": true, "shop/other": false} {
		found := is(web, by)
		found.Fields = []bundle.OriginalField{{Path: "image", Value: "old"}}
		live := map[bundle.ID]bundle.Live{web.ID(): found}
		p := draft(t, live, func(in *bundle.Intent) { in.Conflicts = bundle.TakeAll }, web)
		next := bundle.Step(p, bundle.Record{}, live, bundle.Pace{Now: noon()})
		require.Len(t, next.Apply, 1, by)
		_, kept := bundle.Originals(nil).Overwrite(next.Apply)
		assert.Equal(t, adopts, kept, by)
	}
}
