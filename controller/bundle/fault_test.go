package bundle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// errStorage is why a request to the store fails.
var errStorage = errors.New("the API server is restarting")

// flaky fails one request to a store.
type flaky struct {
	*store

	requests int
	// breaks is the number of the request that fails; 0 for none.
	breaks int
}

func (f *flaky) request() error {
	if f.requests++; f.requests == f.breaks {
		return errStorage
	}
	return nil
}

func (f *flaky) Load(ctx context.Context) (bundle.Record, error) {
	if err := f.request(); err != nil {
		return bundle.Record{}, err
	}
	return f.store.Load(ctx)
}

func (f *flaky) Plan(ctx context.Context, revision int) (bundle.Plan, error) {
	if err := f.request(); err != nil {
		return bundle.Plan{}, err
	}
	return f.store.Plan(ctx, revision)
}

func (f *flaky) Save(ctx context.Context, r bundle.Record, content *bundle.Plan) error {
	if err := f.request(); err != nil {
		return err
	}
	return f.store.Save(ctx, r, content)
}

func (f *flaky) Unmoved(context.Context) error { return f.request() }

func (f *flaky) Remove(ctx context.Context) error {
	if err := f.request(); err != nil {
		return err
	}
	return f.store.Remove(ctx)
}

// scene is a cluster in which Jobs fail, a store, and an engine on both.
type scene struct {
	*engine.Engine

	t       *testing.T
	cluster *cluster
	store   *flaky
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{
		t: t, cluster: &cluster{objects: map[bundle.ID]bundle.Object{}, now: time.Unix(0, 0)},
		store: &flaky{store: &store{plans: map[int]bundle.Plan{}}},
	}
	s.Engine = &engine.Engine{
		Cluster: sick{s.cluster}, Store: s.store, Owner: "shop/shop", Pause: time.Microsecond, Now: func() time.Time { return s.cluster.now },
	}
	return s
}

// wish returns the wish for objects, each named as kind/name.
func (s *scene) wish(names ...string) engine.Wish {
	s.t.Helper()
	versions := map[string]string{"ConfigMap": "v1", "Job": "batch/v1"}
	var objects []bundle.Object
	for _, one := range names {
		kind, name, _ := strings.Cut(one, "/")
		objects = append(objects, bundle.Object{
			"apiVersion": versions[kind], "kind": kind, "metadata": map[string]any{"name": name, "namespace": "shop"},
		})
	}
	sequence, err := bundle.Order(objects)
	require.NoError(s.t, err)
	return engine.Wish{Sequence: sequence}
}

// install plans and installs objects.
func (s *scene) install(ctx context.Context, names ...string) error {
	s.t.Helper()
	w := s.wish(names...)
	p, err := s.Plan(ctx, w)
	if err != nil {
		return err
	}
	return s.Install(ctx, p, w)
}

// advance begins to install objects and does step after step until nothing is unfinished.
func (s *scene) advance(ctx context.Context, names ...string) error {
	s.t.Helper()
	w := s.wish(names...)
	p, err := s.Plan(ctx, w)
	if err == nil {
		err = s.Begin(ctx, p, w)
	}
	for err == nil && s.Unfinished() {
		_, err = s.Advance(ctx)
	}
	return err
}

// uninstall returns the plan to delete everything, and its approval.
func (s *scene) uninstall(ctx context.Context) (bundle.Plan, bundle.Approval, error) {
	p, err := s.Plan(ctx, engine.Wish{Uninstall: true})
	return p, bundle.Approval{PlanDigest: p.Digest}, err
}

// remove begins a removal and does step after step until everything is gone.
func (s *scene) remove(ctx context.Context) error {
	p, approval, err := s.uninstall(ctx)
	if err == nil {
		err = s.BeginRemoval(ctx, p, approval)
	}
	for gone := false; err == nil && !gone; {
		record := s.Record()
		_, gone, err = s.Remove(ctx, record.Removing.Plan(s.Owner, record))
	}
	return err
}

// keep corrects what others have changed, and deletes what left the bundle.
func (s *scene) keep(ctx context.Context) error {
	for range 3 {
		kept, err := s.Look(ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(kept.Correct(ctx), kept.Settle(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// names are those of the objects in the cluster, in order.
func (s *scene) names() string {
	var all []string
	for id := range s.cluster.objects {
		all = append(all, id.Kind+"/"+id.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// operations are all that the engine does.
func operations() map[string]operation {
	return map[string]operation{
		"Install": {do: func(ctx context.Context, s *scene) error { return s.install(ctx, "ConfigMap/a") }, want: "ConfigMap/a"},
		"Upgrade": {
			before: func(s *scene) error { return s.install(s.t.Context(), "ConfigMap/a", "ConfigMap/b") },
			do:     func(ctx context.Context, s *scene) error { return s.install(ctx, "ConfigMap/a", "ConfigMap/c") }, want: "ConfigMap/a ConfigMap/c",
		},
		"Steps": {
			before: func(s *scene) error { return s.install(s.t.Context(), "ConfigMap/a") },
			do:     func(ctx context.Context, s *scene) error { return s.advance(ctx, "ConfigMap/b", "ConfigMap/a") }, want: "ConfigMap/a ConfigMap/b",
		},
		"WayBack": {
			before: func(s *scene) error { return s.install(s.t.Context(), "ConfigMap/a") },
			do:     func(ctx context.Context, s *scene) error { return s.install(ctx, "ConfigMap/a", "Job/m") }, want: "ConfigMap/a", fails: true,
		},
		"WayBackInSteps": {
			before: func(s *scene) error {
				s.Kept = true
				return s.install(s.t.Context(), "ConfigMap/a")
			},
			do: func(ctx context.Context, s *scene) error {
				if err := s.advance(ctx, "Job/m"); err != nil && !errors.Is(err, bundle.ErrQuarantined) {
					return err
				}
				return s.keep(ctx)
			},
			want: "ConfigMap/a", fails: true,
		},
		"Keep": {
			before: func(s *scene) error {
				s.Kept = true
				err := errors.Join(s.install(s.t.Context(), "ConfigMap/a", "ConfigMap/b"), s.install(s.t.Context(), "ConfigMap/a"))
				delete(s.cluster.objects, bundle.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"})
				return err
			},
			do: func(ctx context.Context, s *scene) error { return s.keep(ctx) }, want: "ConfigMap/a",
		},
		"Propose": {
			before: func(s *scene) error { return s.install(s.t.Context(), "ConfigMap/a") },
			do: func(ctx context.Context, s *scene) error {
				p, err := s.Plan(ctx, s.wish("ConfigMap/b"))
				if err != nil {
					return err
				}
				return s.Propose(ctx, p, engine.Wish{})
			},
			want: "ConfigMap/a",
		},
		"Rollback": {
			before: func(s *scene) error {
				return errors.Join(s.install(s.t.Context(), "ConfigMap/a"), s.install(s.t.Context(), "ConfigMap/b"))
			},
			do: func(ctx context.Context, s *scene) error {
				w, err := s.Rollback(ctx, 1)
				if err != nil {
					return err
				}
				p, err := s.Plan(ctx, w)
				if err != nil {
					return err
				}
				return s.Install(ctx, p, w)
			},
			want: "ConfigMap/a",
		},
		"Uninstall": {
			before: func(s *scene) error { return s.install(s.t.Context(), "ConfigMap/a", "ConfigMap/b") },
			do: func(ctx context.Context, s *scene) error {
				p, approval, err := s.uninstall(ctx)
				if err != nil {
					return err
				}
				return s.Uninstall(ctx, p, approval)
			},
		},
		"Remove": {
			before: func(s *scene) error { return s.install(s.t.Context(), "ConfigMap/a", "ConfigMap/b") },
			do:     func(ctx context.Context, s *scene) error { return s.remove(ctx) },
		},
		"Drift": {
			before: func(s *scene) error { return s.install(s.t.Context(), "ConfigMap/a") },
			do: func(ctx context.Context, s *scene) error {
				_, _, err := s.Drift(ctx)
				return err
			},
			want: "ConfigMap/a",
		},
		"Between": {
			before: func(s *scene) error {
				return errors.Join(s.install(s.t.Context(), "ConfigMap/a"), s.install(s.t.Context(), "ConfigMap/b"))
			},
			do: func(ctx context.Context, s *scene) error {
				_, err := s.Between(ctx, 1, 2)
				return err
			},
			want: "ConfigMap/b",
		},
		"Interrupted": {
			before: func(s *scene) error { return s.install(s.t.Context(), "ConfigMap/a") },
			do: func(ctx context.Context, s *scene) error {
				_, err := s.Interrupted(ctx)
				return err
			},
			want: "ConfigMap/a",
		},
	}
}

// operation is something that the engine does.
type operation struct {
	// before prepares the scene; nil for nothing.
	before func(*scene) error
	do     func(context.Context, *scene) error
	// want are the objects afterwards; fails reports that the content fails.
	want  string
	fails bool
}

// begin returns a scene in which the operation can be done.
func (o operation) begin(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	if o.before != nil {
		require.NoError(t, o.before(s))
	}
	s.store.requests = 0
	return s
}

// An operation without faults does what it is for.
func TestOperations(t *testing.T) {
	for name, o := range operations() {
		t.Run(name, func(t *testing.T) {
			s := o.begin(t)
			if err := o.do(t.Context(), s); o.fails {
				assert.NotEmpty(t, s.Record().Quarantined)
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, o.want, s.names())
		})
	}
}

// Whichever request to the store fails, the operation returns that error, and another process that
// goes on and does the same ends as if nothing had failed.
func TestStoreFaults(t *testing.T) {
	for name, o := range operations() {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				s := o.begin(t)
				s.store.breaks = n
				err := o.do(t.Context(), s)
				if s.store.requests < n {
					assert.Greater(t, n, 1, "it uses the store")
					return
				}
				require.ErrorIs(t, err, errStorage, "request %d", n)
				assert.Equal(t, o.want, o.again(t, s), "after request %d", n)
			}
		})
	}
}

// again does the operation once more without faults, after what was interrupted, and returns the
// objects then.
func (o operation) again(t *testing.T, s *scene) string {
	t.Helper()
	s.store.breaks, s.cluster.unseen = 0, 0
	interrupted, err := s.Interrupted(t.Context())
	require.NoError(t, err)
	if interrupted {
		err = s.Resume(t.Context())
	}
	if err = errors.Join(err, o.do(t.Context(), s)); !o.fails {
		require.NoError(t, err)
	}
	return s.names()
}

// hidden is a cluster that cannot be looked at once.
type hidden struct {
	engine.Cluster

	looks int
	// breaks is the number of the look that fails; 0 for none.
	breaks int
}

func (h *hidden) Observe(ctx context.Context, look bundle.Look) (bundle.Seen, error) {
	if h.looks++; h.looks == h.breaks {
		return bundle.Seen{}, errNotNow
	}
	return h.Cluster.Observe(ctx, look)
}

// Whichever look at the cluster fails, the operation returns that error, or waits for the next look
// if it runs to the end of a revision; nothing is lost by it.
func TestClusterFaults(t *testing.T) {
	waits := map[string]bool{"Install": true, "Upgrade": true, "WayBack": true, "Rollback": true, "Uninstall": true}
	for name, o := range operations() {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				s := o.begin(t)
				h := &hidden{Cluster: s.Cluster, breaks: n}
				s.Cluster = h
				err := o.do(t.Context(), s)
				if h.looks < n {
					return
				}
				if n == 1 || !waits[name] {
					require.ErrorIs(t, err, errNotNow, "look %d", n)
				} else if err == nil {
					assert.Equal(t, o.want, s.names(), "after look %d", n)
				}
				assert.Equal(t, o.want, o.again(t, s), "after look %d", n)
			}
		})
	}
}

// running is a cluster in which Jobs named m complete and others go on.
type running struct{ *cluster }

func (r running) Observe(ctx context.Context, look bundle.Look) (bundle.Seen, error) {
	seen, err := r.cluster.Observe(ctx, look)
	for id, live := range seen.Live {
		if strings.HasPrefix(id.Name, "m") {
			live.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
		}
	}
	return seen, err
}

// A Job that is complete is stored as such while others run, or the step fails: it may be removed
// from the cluster, and does not run twice.
func TestCompletedJob(t *testing.T) {
	s := newScene(t)
	s.Cluster = running{s.cluster}
	w := s.wish("Job/m", "Job/n")
	p, err := s.Plan(t.Context(), w)
	require.NoError(t, err)
	require.NoError(t, s.Begin(t.Context(), p, w))
	_, err = s.Advance(t.Context())
	require.NoError(t, err)
	before := s.store.record
	s.store.breaks = s.store.requests + 2 // after Unmoved: Save
	_, err = s.Advance(t.Context())
	require.ErrorIs(t, err, errStorage)
	require.Equal(t, before, s.store.record)
	_, err = s.Advance(t.Context())
	require.NoError(t, err)
	require.Len(t, s.store.record.Completed, 1)
	m := s.store.record.Completed[0]
	delete(s.cluster.objects, m)
	for range 3 {
		_, err = s.Advance(t.Context())
		require.NoError(t, err)
	}
	assert.Equal(t, bundle.StateActive, s.Record().Last().State)
	assert.NotContains(t, s.names(), m.Name)
}
