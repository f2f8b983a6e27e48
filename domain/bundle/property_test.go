package bundle_test

import (
	"flag"
	"maps"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// TestMain asks for more histories than rapid draws by itself, unless it was told how
// many.
func TestMain(m *testing.M) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "rapid.checks" })
	if !told {
		if err := flag.Set("rapid.checks", "500"); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// version draws a bundle: objects that may be late, broken or fixed, with edges that
// make no cycle.
func version(t *rapid.T, label string, mayFail bool) []bundle.Object {
	var objects []bundle.Object
	seen := map[bundle.ID]bool{}
	for range rapid.IntRange(1, 7).Draw(t, label+" objects") {
		kind := rapid.SampledFrom([]string{"ConfigMap", "Service", "Deployment", "Job", "Engine", "PersistentVolumeClaim"}).Draw(t, "kind")
		o := object(kind + " " + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"))
		if seen[o.ID()] {
			continue
		}
		seen[o.ID()] = true
		spec := map[string]any{
			"ready": strconv.Itoa(rapid.IntRange(0, 2).Draw(t, "ready")),
			"fixed": strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "fixed") / 3),
		}
		if mayFail && kind != "Service" && rapid.IntRange(0, 5).Draw(t, "fail") == 0 {
			spec["fail"] = "true"
		}
		o["spec"] = spec
		notes := map[string]any{}
		if len(objects) > 0 && rapid.Bool().Draw(t, "after") {
			to := rapid.SampledFrom(objects).Draw(t, "to").ID()
			notes[bundle.AfterKey] = to.Kind + "/" + to.Name
		}
		if kind == "Job" {
			notes[bundle.RunKey] = rapid.SampledFrom([]string{"Once", "OnChange", "Always"}).Draw(t, "run")
		} else if rapid.IntRange(0, 5).Draw(t, "keep") == 0 {
			notes[bundle.PruneKey] = "Never"
		}
		o["metadata"].(map[string]any)["annotations"] = notes
		objects = append(objects, o)
	}
	if rapid.Bool().Draw(t, "definition") {
		crd := engine()
		crd["spec"].(map[string]any)["version"] = label
		objects = append(objects, crd)
	}
	return objects
}

// story is what happens in a world: versions of a bundle, strangers' objects, edits.
type story struct {
	versions  [][]bundle.Object
	strangers []bundle.Object
	policy    bundle.ConflictPolicy
	edit      bool
}

func drawStory(t *rapid.T) story {
	s := story{policy: rapid.SampledFrom([]bundle.ConflictPolicy{bundle.Prevent, bundle.AdoptUnowned, bundle.TakeAll}).Draw(t, "policy"), edit: rapid.Bool().Draw(t, "edit")}
	for i := range rapid.IntRange(1, 4).Draw(t, "versions") {
		s.versions = append(s.versions, version(t, "v"+strconv.Itoa(i), i > 0))
	}
	for range rapid.IntRange(0, 1).Draw(t, "strangers") {
		s.strangers = append(s.strangers, object(rapid.SampledFrom([]string{"ConfigMap a", "Deployment b", "Service c"}).Draw(t, "stranger")))
	}
	return s
}

// tell lets a story happen.
func (s story) tell(t *rapid.T, w *world) {
	w.policy = s.policy
	for _, o := range s.strangers {
		metadata := maps.Clone(o["metadata"].(map[string]any))
		metadata["uid"], metadata["resourceVersion"] = "stranger", "1"
		w.objects[o.ID()] = thing{object: bundle.Object{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": metadata, "spec": map[string]any{"fixed": "0"}}}
	}
	for _, objects := range s.versions {
		w.wish = objects
		w.settle(t)
		if s.edit {
			w.edit()
			w.settle(t)
		}
	}
}

// edit has somebody change a field of each Deployment.
func (w *world) edit() {
	for id, is := range w.objects {
		if id.Kind == "Deployment" {
			spec, _ := is.object["spec"].(map[string]any)
			spec = maps.Clone(spec)
			spec["edited"] = "by hand"
			is.object = maps.Clone(is.object)
			is.object["spec"] = spec
			w.objects[id] = is
		}
	}
}

// A process that is killed between any two writes, time and again, leaves the same
// objects and the same record as one that is not, and runs no Job twice (BUNDLES.md 8).
func TestStepSurvivesKills(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStory(t)
		calm, troubled := newWorld(), newWorld()
		troubled.kills = rapid.SliceOfN(rapid.IntRange(0, 9), 1, 25).Draw(t, "kills")
		s.tell(t, calm)
		s.tell(t, troubled)
		require.Equal(t, calm.objectsLeft(), troubled.objectsLeft())
		require.Equal(t, calm.record, troubled.record)
		require.Equal(t, calm.ran, troubled.ran)
	})
}

// What a story leaves is what the invariants promise.
func TestStories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := drawStory(t), newWorld()
		s.tell(t, w)
		before := w.objectsLeft()
		require.False(t, w.process(t), "what is settled is left alone")
		assert.Equal(t, before, w.objectsLeft())

		if s.policy == bundle.Prevent {
			for _, o := range s.strangers {
				assert.Equal(t, "stranger", w.objects[o.ID()].object.Text("metadata", "uid"), "BUNDLES.md 5: what is somebody else's is not touched")
				assert.Empty(t, w.objects[o.ID()].object.Annotation(bundle.OwnerKey))
			}
		}
		known := map[bundle.ID]bool{}
		for _, e := range w.record.Inventory {
			known[e.ID] = true
		}
		for id, is := range w.objects {
			if is.object.Annotation(bundle.OwnerKey) == owner && is.object.Annotation(bundle.PruneKey) != "Never" {
				assert.True(t, known[id], "BUNDLES.md 3: nothing that was made is forgotten: %s", id)
			}
		}
		for _, v := range w.record.Revisions {
			failures := 0
			for _, other := range w.record.Revisions {
				if other.ManifestDigest == v.ManifestDigest && other.State == bundle.StateFailed && other.Content == other.Number {
					failures++
				}
			}
			assert.LessOrEqual(t, failures, 1, "BUNDLES.md 6: a content that has failed is not tried again")
		}
		w.healthy(t)
		kept := map[bundle.ID]string{}
		for id, is := range w.objects {
			kept[id] = is.object.Text("metadata", "uid")
		}
		w.uninstall(t)
		for _, o := range s.strangers {
			if kept[o.ID()] == "stranger" {
				assert.Equal(t, "0", w.objects[o.ID()].object.Text("spec", "fixed"), "TRUST.md T9: what was adopted is given back")
				assert.Empty(t, w.objects[o.ID()].object.Text("spec", "ready"), "TRUST.md T9: without what the bundle set")
			}
		}
	})
}

// uninstall checks that in the end nothing is left but what is somebody else's, and what
// says that it stays (BUNDLES.md 7).
func (w *world) uninstall(t *rapid.T) {
	for range 100 {
		in := w.intent(nil, 0)
		in.Uninstall = true
		p, err := bundle.NewPlan(in)
		require.NoError(t, err)
		if len(w.record.Inventory) == 0 {
			break
		}
		w.prune(p)
	}
	for id, is := range w.objects {
		assert.True(t, is.object.Annotation(bundle.OwnerKey) != owner || is.object.Annotation(bundle.PruneKey) == "Never", id)
	}
	assert.Empty(t, w.record.Inventory)
}

// healthy checks that after success all that the revision consists of is there, healthy.
func (w *world) healthy(t *rapid.T) {
	last := w.record.Last()
	if last.State != bundle.StateSucceeded {
		return
	}
	p := w.plans[last.Number]
	for _, item := range p.Sequence {
		if item.Run == "" {
			is, there := w.objects[item.ID]
			require.True(t, there, item.ID)
			assert.Empty(t, is.object.Text("spec", "fail"))
			assert.Empty(t, is.object.Text("spec", "edited"), "BUNDLES.md 12: what somebody edits is put right")
			assert.True(t, item.Kept || is.object.Annotation(bundle.DigestKey) == item.Digest, item.ID)
		}
	}
	assert.True(t, bundle.Prune(p, w.record, w.seen(p.Sequence)).Done())
}
