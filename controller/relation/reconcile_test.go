package relation

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// cluster is a World that behaves: what is applied is observed afterwards.
type cluster struct {
	relation.Snapshot
	unobservable error
	// refuse says which decisions fail, and how.
	refuse  func(relation.Decision) error
	applied []relation.Decision
}

func (c *cluster) Observe(_ context.Context, namespace string) (relation.Snapshot, error) {
	s := c.Snapshot
	s.Namespace = namespace
	return s, c.unobservable
}

func (c *cluster) Apply(_ context.Context, _ string, decision relation.Decision) error {
	if c.refuse != nil {
		if err := c.refuse(decision); err != nil {
			return err
		}
	}
	c.applied = append(c.applied, decision)
	switch d := decision.(type) {
	case relation.Count:
		c.LastRelation = d.LastRelation
	case relation.Publish:
		c.Databags = replace(c.Databags, d.Databag, func(b relation.Databag) string { return b.Application + ":" + b.Endpoint })
	case relation.Remember:
		d.Seen = true
		c.Records = replace(c.Records, d.Record, func(r relation.Record) string { return r.Name })
	case relation.Relate:
		r := relation.Relation{Key: d.Key, Name: d.Name(), UID: "uid-" + d.Name(), Interface: d.Interface, Version: d.Version, Declared: true, Created: c.Now, State: d.State}
		c.Relations = replace(c.Relations, r, func(r relation.Relation) string { return r.Name })
	case relation.Update:
		c.Relations = replace(c.Relations, d.Relation, func(r relation.Relation) string { return r.Name })
	default:
	}
	return nil
}

func (c *cluster) Referrers(string, string) []string { return nil }

func replace[T any](all []T, one T, name func(T) string) []T {
	kept := []T{one}
	for _, x := range all {
		if name(x) != name(one) {
			kept = append(kept, x)
		}
	}
	return kept
}

// story is two providers and a consumer of both.
func story() *cluster {
	provider := func(name string) application.Application {
		return application.Application{
			Name: name, Services: []string{name}, OnChange: application.Files, Retain: application.DefaultRetain,
			Endpoints: []application.Endpoint{{Name: name, Interface: name, Role: application.Provider}},
			Bags:      map[string]map[string]string{name: {"host": name}},
		}
	}
	consumer := application.Application{
		Name: "blog", OnChange: application.Files, Retain: application.DefaultRetain,
		Workloads: []application.Workload{{Object: application.Object{Name: "blog"}, Kind: application.Deployment}},
		Endpoints: []application.Endpoint{{Name: "db", Interface: "db", Role: application.Requirer}, {Name: "sse", Interface: "sse", Role: application.Requirer}},
		Relations: []application.Reference{{Application: "db"}, {Application: "sse"}},
	}
	return &cluster{Snapshot: relation.Snapshot{
		Now:          time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
		Applications: []application.Application{consumer, provider("db"), provider("sse")},
	}}
}

func settle(c *cluster) (reconcile.Result, error) {
	r := Reconciler{World: c}
	return r.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "shop"}})
}

func TestReconcileSettles(t *testing.T) {
	c := story()
	for range 3 { // a relation's UID is known in the pass after it was made
		_, err := settle(c)
		require.NoError(t, err)
	}
	require.Len(t, c.Relations, 2)
	c.applied = nil
	result, err := settle(c)
	require.NoError(t, err)
	assert.Empty(t, c.applied, "a settled namespace is left alone")
	assert.Zero(t, result, "until something changes")
}

func TestOneFailureHoldsBackNothingElse(t *testing.T) {
	broken := errors.New("the API server had a bad day")
	tests := map[string]struct {
		why  string
		fail func(relation.Decision) bool
	}{
		"Publish":  {why: "data of one provider", fail: func(d relation.Decision) bool { p, ok := d.(relation.Publish); return ok && p.Application == "db" }},
		"Remember": {why: "a record is for people first", fail: func(d relation.Decision) bool { r, ok := d.(relation.Remember); return ok && r.Name == "blog" }},
		"Relate": {why: "one relation of two", fail: func(d relation.Decision) bool {
			r, ok := d.(relation.Relate)
			return ok && r.Provider.Application == "db"
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			whole := story()
			_, err := settle(whole)
			require.NoError(t, err)

			c, refused := story(), 0
			c.refuse = func(d relation.Decision) error {
				if test.fail(d) {
					refused++
					return broken
				}
				return nil
			}
			result, err := settle(c)
			require.ErrorIs(t, err, broken, test.why)
			assert.Zero(t, result, "the queue's own pace retries what failed")
			assert.Equal(t, 1, refused)
			assert.Len(t, c.applied, len(whole.applied)-1, "all but one: %s", test.why)

			c.refuse = nil
			for range 3 {
				_, err = settle(c)
				require.NoError(t, err)
			}
			assert.Len(t, c.Relations, 2, "and the retry mends it")
		})
	}
}

func TestReconcileNeedsToSee(t *testing.T) {
	c := story()
	c.unobservable = errors.New("no cache")
	_, err := settle(c)
	require.ErrorIs(t, err, c.unobservable)
	assert.Empty(t, c.applied, "nothing is decided on half a picture")
}

// A namespace that the caches do not have whole is not judged, and is observed again soon (TRUST.md U7).
func TestReconcileAwaitsTheCaches(t *testing.T) {
	c := story()
	c.unobservable = object.ErrIncomplete
	result, err := settle(c)
	require.NoError(t, err)
	assert.Equal(t, incomplete, result.RequeueAfter)
	assert.Empty(t, c.applied)
}

// SAFETY.md L5: a held relation ends by a clock, so that someone must look at it
// although nothing changes.
func TestReconcileWakesForWhatIsHeld(t *testing.T) {
	c := story()
	for range 3 {
		_, err := settle(c)
		require.NoError(t, err)
	}
	c.Applications[0].Relations = nil
	result, err := settle(c)
	require.NoError(t, err)
	assert.Equal(t, application.DefaultRetain, result.RequeueAfter)
	for _, r := range c.Relations {
		assert.True(t, r.Held())
		assert.True(t, r.Alive())
	}
}

func TestUntil(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	assert.Zero(t, until(time.Time{}, now))
	assert.Equal(t, time.Minute, until(now.Add(time.Minute), now))
	assert.Equal(t, time.Second, until(now.Add(-time.Minute), now), "what is due is not due at once for ever")
}

// describe is for the log: SAFETY.md S2 and STYLE.md, never a databag's value.
func TestDescribeTellsNoValue(t *testing.T) {
	decisions := []relation.Decision{
		relation.Publish{Databag: relation.Databag{Application: "db", Endpoint: "db", Data: map[string]string{"password": "hunter2"}}},
		relation.Withdraw{Databag: relation.Databag{Application: "db", Endpoint: "db", Data: map[string]string{"password": "hunter2"}}},
		relation.Remember{}, relation.Relate{}, relation.Update{}, relation.Finish{}, relation.Release{}, relation.Forget{},
	}
	seen := map[string]bool{}
	for _, d := range decisions {
		text := describe(d)
		assert.NotContains(t, text, "hunter2")
		assert.NotContains(t, text, "relation.", "every decision has words")
		assert.False(t, seen[text], "and its own: %s", text)
		seen[text] = true
	}
}
