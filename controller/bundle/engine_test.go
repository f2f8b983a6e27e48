package bundle_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// cluster is one in which what is written is healthy at once.
type cluster struct {
	objects map[bundle.ID]bundle.Object
	// unseen and refuses are how often it cannot be looked at, and refuses a write.
	unseen, refuses int
	now             time.Time
}

var errNotNow = errors.New("not now")

func (c *cluster) Observe(_ context.Context, look bundle.Look) (bundle.Seen, error) {
	c.now = c.now.Add(time.Minute)
	seen := bundle.Seen{Live: map[bundle.ID]bundle.Live{}}
	if c.unseen > 0 {
		c.unseen--
		return seen, errNotNow
	}
	ids := look.Read
	for _, o := range look.Compare {
		ids = append(ids, o.ID())
	}
	for _, id := range ids {
		if o, there := c.objects[id]; there {
			seen.Live[id] = bundle.Live{Object: o, Health: bundle.Ready}
		}
	}
	return seen, nil
}

func (c *cluster) Apply(_ context.Context, writes []bundle.Write) (written []bundle.ID, refused map[bundle.ID]error) {
	refused = map[bundle.ID]error{}
	for _, w := range writes {
		id := w.Object.ID()
		if c.refuses > 0 {
			c.refuses--
			refused[id] = errNotNow
			continue
		}
		c.objects[id] = w.Object
		written = append(written, id)
	}
	return written, refused
}

func (c *cluster) Delete(_ context.Context, deletions []bundle.Deletion) map[bundle.ID]error {
	for _, d := range deletions {
		delete(c.objects, d.ID)
	}
	return nil
}

// store keeps all in memory.
type store struct {
	record bundle.Record
	plans  map[int]bundle.Plan
}

func (s *store) Load(context.Context) (bundle.Record, error) { return s.record, nil }

func (s *store) Plan(_ context.Context, revision int) (bundle.Plan, error) {
	return s.plans[revision], nil
}

func (s *store) Save(_ context.Context, r bundle.Record, content *bundle.Plan) error {
	if s.record = r; content != nil {
		s.plans[r.Last().Number] = *content
	}
	return nil
}

func (s *store) Unmoved(context.Context) error { return nil }

func (s *store) Remove(context.Context) error {
	*s = store{}
	return nil
}

// holding is a cluster in which something holds what is deleted.
type holding struct{ *cluster }

func (h holding) Delete(_ context.Context, deletions []bundle.Deletion) map[bundle.ID]error {
	for _, d := range deletions {
		metadata, _ := h.objects[d.ID]["metadata"].(map[string]any)
		metadata["deletionTimestamp"], metadata["finalizers"] = "2026-01-01T00:00:00Z", []any{"example.org/hold"}
	}
	return nil
}

// What a deletion waits for is one sentence.
func TestDeletionThatIsHeld(t *testing.T) {
	c, s := &cluster{objects: map[bundle.ID]bundle.Object{}, now: time.Unix(0, 0)}, &store{plans: map[int]bundle.Plan{}}
	e := &engine.Engine{
		Cluster: holding{c}, Store: s, Owner: "shop/shop", Timeout: 5 * time.Minute, Pause: time.Microsecond, Now: func() time.Time { return c.now },
	}
	object := bundle.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop"}}
	sequence, err := bundle.Order([]bundle.Object{object})
	require.NoError(t, err)
	p, err := e.Plan(t.Context(), engine.Wish{Sequence: sequence})
	require.NoError(t, err)
	require.NoError(t, e.Install(t.Context(), p, engine.Wish{Sequence: sequence}))
	p, err = e.Plan(t.Context(), engine.Wish{Uninstall: true})
	require.NoError(t, err)
	err = e.Uninstall(t.Context(), p, bundle.Approval{PlanDigest: p.Digest})
	require.ErrorContains(t, err, "cannot delete ConfigMap shop/a, which is being deleted and waits for finalizers example.org/hold")
}

// An object that vanished by itself gives what is deleted beside it no more time.
func TestDeletionHasNoMoreTime(t *testing.T) {
	c, s := &cluster{objects: map[bundle.ID]bundle.Object{}, now: time.Unix(0, 0)}, &store{plans: map[int]bundle.Plan{}}
	e := &engine.Engine{Cluster: c, Store: s, Owner: "shop/shop", Pause: time.Microsecond, Now: func() time.Time { return c.now }}
	var objects []bundle.Object
	for _, name := range []string{"a", "b"} {
		objects = append(objects, bundle.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "shop"}})
	}
	sequence, err := bundle.Order(objects)
	require.NoError(t, err)
	p, err := e.Plan(t.Context(), engine.Wish{Sequence: sequence})
	require.NoError(t, err)
	require.NoError(t, e.Install(t.Context(), p, engine.Wish{Sequence: sequence}))
	p, err = e.Plan(t.Context(), engine.Wish{Uninstall: true})
	require.NoError(t, err)
	delete(c.objects, bundle.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"})
	e.Timeout = time.Nanosecond
	require.ErrorIs(t, e.Uninstall(t.Context(), p, bundle.Approval{PlanDigest: p.Digest}), engine.ErrTimeout)
}

// install runs an engine on a bundle of one object, in a cluster that has its troubles
// once it is planned.
func install(t *testing.T, unseen, refuses int) (*engine.Engine, []engine.Progress, error) {
	t.Helper()
	c := &cluster{objects: map[bundle.ID]bundle.Object{}, now: time.Unix(0, 0)}
	var told []engine.Progress
	e := &engine.Engine{
		Cluster: c, Store: &store{plans: map[int]bundle.Plan{}}, Owner: "shop/shop", Timeout: 30 * time.Minute, Pause: time.Microsecond,
		Now: func() time.Time { return c.now }, Tell: func(p engine.Progress) { told = append(told, p) },
	}
	sequence, err := bundle.Order([]bundle.Object{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop"}}})
	require.NoError(t, err)
	p, err := e.Plan(t.Context(), engine.Wish{Sequence: sequence})
	require.NoError(t, err)
	c.unseen, c.refuses = unseen, refuses
	err = e.Install(t.Context(), p, engine.Wish{Sequence: sequence})
	return e, told, err
}

// What passes is waited for: a cluster that cannot be looked at, and one that refuses a write.
func TestTroublePasses(t *testing.T) {
	e, told, err := install(t, 3, 2)
	require.NoError(t, err)
	assert.Equal(t, bundle.StateSucceeded, e.Record().Last().State)
	require.ErrorIs(t, told[0].Trouble, errNotNow, "and is told")
	assert.Contains(t, told[4].Next.Waits[0].For, errNotNow.Error())
}

// A write that is refused for too long fails the revision, and says why.
func TestRefusedForTooLong(t *testing.T) {
	e, _, err := install(t, 0, 1000)
	var failed *engine.FailedError
	require.ErrorAs(t, err, &failed)
	assert.Contains(t, failed.Why, errNotNow.Error())
	assert.Equal(t, bundle.StateFailed, e.Record().Last().State)
	assert.NotErrorIs(t, err, engine.ErrTimeout)
}

// A cluster that cannot be looked at for too long is a matter of time.
func TestUnseenForTooLong(t *testing.T) {
	_, _, err := install(t, 1000, 0)
	require.ErrorIs(t, err, engine.ErrTimeout)
	require.ErrorContains(t, err, errNotNow.Error())
}

// sick is a cluster whose Jobs fail.
type sick struct{ *cluster }

func (s sick) Observe(ctx context.Context, look bundle.Look) (bundle.Seen, error) {
	seen, err := s.cluster.Observe(ctx, look)
	for id, live := range seen.Live {
		if id.Kind == "Job" {
			live.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True"}}}
			live.Says, live.Log = "container m of pod m-x exited with code 4", bundle.Log{Namespace: "shop", Pod: "m-x", Container: "m"}
			seen.Live[id] = live
		}
	}
	return seen, err
}

// The command that prints a log is stored only if the pod stays.
func TestFailureNamesALogThatStays(t *testing.T) {
	job := bundle.Object{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "m", "namespace": "shop"}}
	settings := bundle.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop"}}
	c, s := &cluster{objects: map[bundle.ID]bundle.Object{}, now: time.Unix(0, 0)}, &store{plans: map[int]bundle.Plan{}}
	e := &engine.Engine{Cluster: sick{c}, Store: s, Owner: "shop/shop", Pause: time.Microsecond, Now: func() time.Time { return c.now }, LogHint: "Keep leaves both"}
	install := func(objects ...bundle.Object) string {
		sequence, err := bundle.Order(objects)
		require.NoError(t, err)
		p, err := e.Plan(t.Context(), engine.Wish{Sequence: sequence, Retry: true})
		require.NoError(t, err)
		if err := e.Install(t.Context(), p, engine.Wish{Sequence: sequence, Retry: true}); err != nil {
			return err.Error()
		}
		return ""
	}
	assert.Contains(t, install(job), "see kubectl -n shop logs m-x -c m", "nothing to go back to")
	assert.Empty(t, install(settings))
	failed := install(settings, job)
	assert.Contains(t, failed, "exited with code 4; Keep leaves both")
	assert.NotContains(t, failed, "see kubectl")
}
