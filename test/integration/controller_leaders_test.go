package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// given are the identities of relations by id, and how often each was deleted.
type given struct {
	identities map[int64]map[string]bool
	deleted    map[int64]int
}

// watchIDs notes the identity of each relation of the namespace from now on, until the function that it returns is
// called.
func (w *controllerWorld) watchIDs() (end func() given) {
	w.t.Helper()
	watching, err := client.NewWithWatch(w.cluster.Config(w.t), client.Options{Scheme: w.scheme})
	require.NoError(w.t, err)
	events, err := watching.Watch(w.ctx, &v1alpha1.RelationList{}, client.InNamespace(w.namespace))
	require.NoError(w.t, err)
	seen, done := given{map[int64]map[string]bool{}, map[int64]int{}}, make(chan given, 1)
	w.t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			r, is := event.Object.(*v1alpha1.Relation)
			if !is || r.State.ID == 0 {
				continue
			}
			if seen.identities[r.State.ID] == nil {
				seen.identities[r.State.ID] = map[string]bool{}
			}
			seen.identities[r.State.ID][r.State.Identity] = true
			if event.Type == watch.Deleted {
				seen.deleted[r.State.ID]++
			}
		}
		done <- seen
	}()
	return func() given { events.Stop(); return <-done }
}

// Two leaders at once, for a minute of changes: no id is given twice, no relation that is declared ends, each that is
// not ends once, and in the end all is as one leader would have left it (TRUST.md A2).
func TestControllerWithTwoLeaders(t *testing.T) {
	t.Parallel()
	w := newControllerWorld(t)
	end := w.watchIDs()
	w.controller(-1)
	w.controller(-1)
	db, kept := w.provider("db-endpoint", "db.tengu.io"), w.provider("sse-endpoint", "sse.tengu.io")
	both, one := consumes("sse,db", "sse-endpoint,db-endpoint"), consumes("sse", "sse-endpoint")
	both[application.KeyRetain], one[application.KeyRetain] = "0s", "0s"
	sleep := w.consumer("sleep", both)
	w.create(db, kept, sleep)
	w.becomes("sse-endpoint", "Complete")
	always := w.relations()["sse-endpoint"].State

	rounds, minute := 0, time.After(time.Minute)
	for over := false; !over || rounds < 4; rounds++ {
		w.becomes("db-endpoint", "Complete")
		w.change(kept, func() { kept.Spec.ExternalName = fmt.Sprintf("sse-%d.tengu.io", rounds) })
		w.change(db, func() { db.Spec.ExternalName = fmt.Sprintf("db-%d.tengu.io", rounds) })
		w.change(sleep, func() { sleep.Spec.Template.Annotations = one })
		w.eventually("what is not declared ends", func() bool { return w.relations()["db-endpoint"].Name == "" })
		w.change(sleep, func() { sleep.Spec.Template.Annotations = both })
		select {
		case <-minute:
			over = true
		default:
		}
	}
	w.becomes("db-endpoint", "Complete")
	w.eventually("the last data", func() bool {
		return w.bag("sse-endpoint").State.Data["host"] == fmt.Sprintf("sse-%d.tengu.io", rounds-1) &&
			w.bag("db-endpoint").State.Data["host"] == fmt.Sprintf("db-%d.tengu.io", rounds-1)
	})
	assert.Equal(t, always.Identity, w.relations()["sse-endpoint"].State.Identity)
	assert.Equal(t, always.ID, w.relations()["sse-endpoint"].State.ID)
	got := end()
	t.Logf("%d rounds, %d relations", rounds, len(got.identities))
	assert.GreaterOrEqual(t, len(got.identities), rounds, "the watch has seen them all")
	for id, identities := range got.identities {
		assert.Len(t, identities, 1, "id %d is of one relation", id)
		assert.LessOrEqual(t, got.deleted[id], 1, "id %d ends once", id)
	}
	assert.Zero(t, got.deleted[always.ID], "what is declared lives")
}
