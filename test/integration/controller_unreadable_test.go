package integration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// spoil changes the state of an application's record behind the controller's back.
func (w *controllerWorld) spoil(name string, change func(*v1alpha1.RelatedApplicationState)) {
	w.t.Helper()
	app := w.app(name)
	before := app.DeepCopy()
	change(&app.State)
	require.NoError(w.t, w.admin.Patch(w.ctx, &app, client.MergeFrom(before)))
}

// A record whose state cannot be read shows that, and stays as it is otherwise. Its namespace goes
// on; new relations wait; agents keep what they have and write on; and when it is corrected, all
// that waited is made, with ids and numbers that were never given (SAFETY.md D10, E13).
func TestControllerGoesOnBesideTheUnreadable(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	cache := w.consumer("cache", map[string]string{application.KeyProvides: "main:redis"})
	cache.Annotations = map[string]string{application.PrefixData + "main": "{host: cache, port: '6379'}"}
	w.create(cache, w.consumer("web", consumes("store:redis", "cache")))
	w.speaker(c, "cache", "10.9.1.1")
	web := w.speaker(c, "web", "10.9.1.2")
	port := func(port string) func(*wire.Snapshot) bool {
		complete := false
		return func(s *wire.Snapshot) bool {
			r := s.GetRelations()
			is := len(r) == 1 && len(r[0].GetUnits()) == 1 && r[0].GetComplete()
			assert.False(t, complete && !is, "what the agent had is never missing")
			complete = complete || is
			return is && s.GetUnit().GetKnown() && r[0].GetBag().GetData()["port"] == port
		}
	}
	hears(t, web.stream, "the relation", port("6379"))
	term := w.leads(web)

	w.spoil("cache", func(s *v1alpha1.RelatedApplicationState) { s.NextUnit = -1 })
	spoilt := w.app("cache")
	w.eventually("the record shows it", func() bool { return reason(w.app("cache").Status.Conditions, "Stalled") == relation.ReasonUnreadable })
	w.create(w.provider("other-endpoint", "other.tengu.io"), w.consumer("late", consumes("store:redis", "cache")))
	w.eventually("the namespace goes on", func() bool { return w.bag("other-endpoint").State.Version != "" })
	w.eventually("what waits shows it", func() bool {
		ready := meta.FindStatusCondition(w.app("late").Status.Conditions, "Ready")
		return ready != nil && strings.Contains(ready.Message, `cannot read application "cache"`)
	})
	require.NoError(t, web.because(w, "relation-set", term, &wire.Change{
		Relation: w.relations()["cache"].State.Identity, Application: true, Set: map[string]string{"user": "web"},
	}), "units write on")
	marked := w.app("cache")
	marked.Status.Conditions, spoilt.Status.Conditions = nil, nil
	marked.Status.ObservedGeneration, spoilt.Status.ObservedGeneration = 0, 0
	assert.Equal(t, spoilt.Status, marked.Status, "nothing else of it is written")
	assert.Equal(t, spoilt.State, marked.State, "nothing else of it is written")
	assert.Len(t, w.relations(), 1)

	w.spoil("cache", func(s *v1alpha1.RelatedApplicationState) { s.NextUnit = 1 })
	w.eventually("it can be read", func() bool { return reason(w.app("cache").Status.Conditions, "Stalled") != relation.ReasonUnreadable })
	w.eventually("the new relation", func() bool {
		var all v1alpha1.RelationList
		require.NoError(t, w.admin.List(w.ctx, &all, client.InNamespace(w.namespace)))
		ids := map[int64]bool{}
		for _, r := range all.Items {
			ids[r.State.ID] = true
		}
		return len(all.Items) == 2 && ids[1] && ids[2]
	})
	assert.Equal(t, spoilt.State.Units, w.app("cache").State.Units)
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(cache), cache))
	cache.Annotations[application.PrefixData+"main"] = "{host: cache, port: '6380'}"
	require.NoError(t, w.admin.Update(w.ctx, cache))
	hears(t, web.stream, "the next view", port("6380"))
	assert.Zero(t, c.refused.Load())
}
