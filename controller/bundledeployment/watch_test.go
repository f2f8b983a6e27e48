package bundledeployment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// watching is a set of watches in memory.
type watching struct {
	// watched are the objects of each account and deployment.
	watched map[string][]domain.ID
	lacks   []domain.Permission
}

func (w *watching) Watch(account, owner string, objects []domain.ID) []domain.Permission {
	w.watched[account+" "+owner] = objects
	return w.lacks
}

func (w *watching) Forget(owner string) {
	for name := range w.watched {
		if name[len(name)-len(owner):] == owner {
			delete(w.watched, name)
		}
	}
}

// Changes are looked at a second later, all that came meanwhile at once, and looks for changes are
// four seconds apart, however many there are.
func TestLooks(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string]struct {
		why string
		// changes and looks are times since the beginning.
		changes, looks []time.Duration
	}{
		"One":   {"changes seldom come alone", []time.Duration{0}, []time.Duration{time.Second}},
		"Burst": {"they are looked at together", []time.Duration{0, 100 * ms, 900 * ms}, []time.Duration{time.Second}},
		"After": {"one that comes after the look is not lost", []time.Duration{0, 1100 * ms}, []time.Duration{time.Second, 5 * time.Second}},
		"Late":  {"nobody is in a hurry", []time.Duration{0, 10 * time.Second}, []time.Duration{time.Second, 11 * time.Second}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			var l looks
			var got []time.Duration
			for _, at := range test.changes {
				due := at + l.after(shop, began.Add(at))
				if len(got) == 0 || got[len(got)-1] != due {
					got = append(got, due)
				}
			}
			assert.Equal(t, test.looks, got, test.why)
		})
	}
	var l looks
	began, seen := time.Now(), map[time.Duration]bool{}
	for at := time.Duration(0); at < time.Minute; at += 100 * ms {
		wait := l.after(shop, began.Add(at))
		assert.Positive(t, wait)
		assert.LessOrEqual(t, wait, 4*time.Second, "a change is seen within 5 s")
		seen[at+wait] = true
	}
	assert.Len(t, seen, 16, "an object that always changes leaves the workers to others")
	assert.Equal(t, time.Second, l.after(types.NamespacedName{Namespace: "shop", Name: "other"}, began))
}

// Changed has the deployment reconciled.
func TestChanged(t *testing.T) {
	r := newWorld(t, configMaps("a")).leader()
	var enqueued []time.Duration
	r.enqueue = func(name types.NamespacedName, after time.Duration) {
		assert.Equal(t, shop, name)
		enqueued = append(enqueued, after)
	}
	r.Changed("shop/shop")
	r.Changed("shop/shop")
	assert.Equal(t, []time.Duration{time.Second, time.Second}, enqueued, "the queue joins what is due at one time")
}

// All that a deployment made is watched by its account once a revision has succeeded, and nothing
// of it when it is deleted. What may not be watched is published.
func TestWatched(t *testing.T) {
	w := newWorld(t, web+configMaps("a"), func(d *v1alpha1.BundleDeployment) { d.Spec.ServiceAccountName = "deployer" })
	w.sick = "Deployment"
	r, watches := w.leader(), &watching{watched: map[string][]domain.ID{}}
	r.Watches = watches
	w.run(r, string(domain.Progressing))
	assert.Empty(t, watches.watched, "a run looks for itself")
	w.sick = ""
	w.run(r, "Healthy")
	all := []domain.ID{{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, {Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}}
	assert.Equal(t, map[string][]domain.ID{"system:serviceaccount:shop:deployer shop/shop": all}, watches.watched)
	healthy := func() string {
		c := meta.FindStatusCondition(w.deployment().Status.Conditions, string(domain.Healthy))
		require.NotNil(t, c)
		return c.Message
	}
	assert.Equal(t, "every object is up to date and healthy; Orcon looks for changes by others every 2m", healthy())
	watches.lacks = []domain.Permission{{Verb: "watch", Resource: "configmaps", Namespace: "shop"}}
	w.reconcile(r)
	assert.Equal(t, "every object is up to date and healthy; Orcon looks for changes by others every 2m; changes to configmaps in namespace "+
		"shop are found only then: the account may not list and watch them", healthy())
	assert.Equal(t, "all 2 objects are up to date and healthy", w.ready().Message)

	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Paused = true })
	w.reconcile(r)
	assert.NotEmpty(t, watches.watched, "a pause ends")
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Paused = false })
	w.held = "ConfigMap"
	require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
	w.reconcile(r)
	assert.Empty(t, watches.watched, "what Orcon deletes itself is no change by others")
	w.held = ""
	for range 3 {
		w.reconcile(r)
	}
	assert.Empty(t, w.names())
}
