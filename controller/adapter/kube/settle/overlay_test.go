package settle

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

func bagAt(name string, rv uint64) *v1alpha1.Databag {
	b := object.Named(&v1alpha1.Databag{}, "shop", name)
	b.ResourceVersion = strconv.FormatUint(rv, 10)
	return b
}

// apiServer is a history of one kind's objects.
type apiServer struct {
	revision uint64
	log      []logged
}

type logged struct {
	name    string
	rv      uint64
	deleted bool
}

func (a *apiServer) append(name string, deleted bool) uint64 {
	a.revision++
	a.log = append(a.log, logged{name, a.revision, deleted})
	return a.revision
}

// at returns the objects as they were at a revision.
func (a *apiServer) at(revision uint64) map[string]uint64 {
	all := map[string]uint64{}
	for _, e := range a.log {
		if e.rv > revision {
			break
		}
		if delete(all, e.name); !e.deleted {
			all[e.name] = e.rv
		}
	}
	return all
}

// However a cache lags, skips events (an interrupted watch) or waits, a pass sees no object older than this
// process's last write of it and each own write that no other followed; no deleted object comes back for good.
func TestOverlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		api, caughtUp := &apiServer{}, uint64(0)
		store := &toolscache.FakeCustomStore{LastStoreSyncResourceVersionFunc: func() string { return strconv.FormatUint(caughtUp, 10) }}
		here := scope{reflect.TypeFor[*v1alpha1.Databag](), "shop"}
		w := latest{stores: map[reflect.Type]toolscache.Store{here.kind: store}}
		mine := map[string]uint64{}
		observe := func() map[string]uint64 {
			unseen := w.unseen(here)
			var cached []*v1alpha1.Databag
			for name, rv := range api.at(caughtUp) {
				cached = append(cached, bagAt(name, rv))
			}
			seen := map[string]uint64{}
			for _, b := range merge(cached, unseen) {
				seen[b.Name] = object.Revision(b)
			}
			return seen
		}
		names := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"Write": func(t *rapid.T) {
				name := names.Draw(t, "name")
				mine[name] = api.append(name, false)
				w.wrote(bagAt(name, mine[name]))
			},
			"SomebodyWrites":  func(t *rapid.T) { api.append(names.Draw(t, "name"), false) },
			"SomebodyDeletes": func(t *rapid.T) { api.append(names.Draw(t, "name"), true) },
			"CatchUp":         func(t *rapid.T) { caughtUp = rapid.Uint64Range(caughtUp, api.revision).Draw(t, "to") },
			"Observe":         func(*rapid.T) { observe() },
			"": func(t *rapid.T) {
				seen, now := observe(), api.at(api.revision)
				for name, rv := range seen {
					if rv < mine[name] {
						t.Fatalf("%s is seen at %d, but was written at %d", name, rv, mine[name])
					}
				}
				for name, rv := range mine {
					if now[name] == rv && seen[name] != rv {
						t.Fatalf("the write of %s at %d is not seen", name, rv)
					}
				}
				if caughtUp == api.revision && !maps.Equal(seen, now) {
					t.Fatalf("caught up and saw %v, not %v", seen, now)
				}
				if caughtUp == api.revision && len(w.written) > 0 {
					t.Fatalf("kept %v for ever", w.written)
				}
			},
		})
	})
}

// What another process has written since a namespace was observed is not deleted or replaced by what was decided then,
// although the cache shows it meanwhile; this process's own writes, before and after, do not count (TRUST.md A2).
func TestDecisionsAreOfWhatWasObserved(t *testing.T) {
	caughtUp := uint64(5)
	store := &toolscache.FakeCustomStore{LastStoreSyncResourceVersionFunc: func() string { return strconv.FormatUint(caughtUp, 10) }}
	l := latest{stores: map[reflect.Type]toolscache.Store{reflect.TypeFor[*v1alpha1.Databag](): store}}
	l.wrote(bagAt("mine", 6))
	l.begin("shop")
	l.wrote(bagAt("next", 8))
	caughtUp = 9
	for name, rv := range map[string]uint64{"known": 5, "mine": 6, "next": 8} {
		require.NoError(t, l.unmoved(bagAt(name, rv)), name)
	}
	for name, rv := range map[string]uint64{"known": 7, "mine": 9, "next": 9} {
		assert.True(t, apierrors.IsConflict(l.unmoved(bagAt(name, rv))), name)
	}
	l.begin("shop")
	require.NoError(t, l.unmoved(bagAt("known", 7)), "it is observed again")
	require.NoError(t, l.unmoved(object.Named(&v1alpha1.Relation{}, "shop", "r")), "a kind without a cache")
}

func TestMergeKeepsOrderAndAddsByName(t *testing.T) {
	cached := []*v1alpha1.Databag{bagAt("z", 3), bagAt("a", 3)}
	o := overlay{}
	for _, b := range []*v1alpha1.Databag{bagAt("a", 5), bagAt("z", 2), bagAt("m", 4), bagAt("b", 4)} {
		o.wrote(b)
	}
	var seen []string
	for _, b := range merge(cached, o.newer(scopeOf(bagAt("", 0)), 1)) {
		seen = append(seen, b.Name+"@"+b.ResourceVersion)
	}
	assert.Equal(t, []string{"z@3", "a@5", "b@4", "m@4"}, seen)
}

// A later change of the object in memory does not change what was kept.
func TestOverlayKeepsACopy(t *testing.T) {
	var o overlay
	b := bagAt("a", 1)
	o.wrote(b)
	b.ResourceVersion, b.State.Version = "9", "changed"
	kept := slices.Collect(maps.Values(o.newer(scopeOf(b), 0)))
	assert.Equal(t, "1", kept[0].GetResourceVersion(), fmt.Sprint(kept))
}
