package metadata

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const (
	account = "system:serviceaccount:shop:deployer"
	store   = "shop/store"
)

// written returns the change of an object that applied and a controller have written, each at a
// minute.
func written(applied, controlled int) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) {
		at := func(minute int) *metav1.Time { return new(metav1.Date(2026, 1, 1, 12, minute, 0, 0, time.UTC)) }
		o.ResourceVersion = fmt.Sprint(applied, controlled)
		o.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "orcon", Operation: "Apply", Time: at(applied)},
			{Manager: "controller", Operation: "Update", Time: at(controlled), Subresource: "status"},
		}
	}
}

// What changes an object, or its deletion, is reported; what its own controller writes is not.
func TestReports(t *testing.T) {
	const web, settings = "Deployment web", "ConfigMap settings"
	tests := map[string]struct {
		why    string
		named  string
		change func(*metav1.PartialObjectMetadata)
		want   []string
	}{
		"Spec":    {"its generation tells so", web, func(o *metav1.PartialObjectMetadata) { o.Generation++ }, []string{store}},
		"Status":  {"its controller is at work", web, func(o *metav1.PartialObjectMetadata) { o.ResourceVersion = "2" }, nil},
		"Label":   {"a label is part of what was applied", web, func(o *metav1.PartialObjectMetadata) { o.Labels["team"] = "blue" }, []string{store}},
		"Note":    {"so is an annotation", web, func(o *metav1.PartialObjectMetadata) { o.Annotations["team"] = "blue" }, []string{store}},
		"Leaving": {"it waits for a finalizer", web, func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = new(metav1.Now()) }, []string{store}},
		"Data":    {"its kind has no generation", settings, func(o *metav1.PartialObjectMetadata) { o.ResourceVersion = "2" }, []string{store}},
		"Again":   {"a watch that begins anew sends objects twice", settings, func(*metav1.PartialObjectMetadata) {}, nil},
		"Owner":   {"who loses it must know", settings, func(o *metav1.PartialObjectMetadata) { o.Annotations = nil }, []string{store}},
		"Gone":    {"it was deleted", settings, nil, []string{store}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.put(object(test.named))
				assert.Empty(t, w.watches.Watch(account, store, ids(test.named)))
				require.Equal(t, []string{store}, w.news(), "the watch works: what happened before is looked for once")
				w.put(object("ConfigMap another"))
				assert.Empty(t, w.news(), "what is new is no change of what was")
				if test.change == nil {
					w.remove(object(test.named))
				} else {
					w.put(object(test.named, test.change))
				}
				assert.Equal(t, test.want, w.news(), test.why)
			})
		})
	}
}

// A kind without a generation tells a write of its controller from one of others by who wrote what.
func TestReportsNoStatus(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put(object("ConfigMap scaler", written(1, 1)))
		w.watches.Watch(account, store, ids("ConfigMap scaler"))
		assert.Equal(t, []string{store}, w.news())
		w.put(object("ConfigMap scaler", written(1, 2)))
		assert.Empty(t, w.news())
		w.put(object("ConfigMap scaler", written(3, 2)))
		assert.Equal(t, []string{store}, w.news())
	})
}

// Deployments of an account share a watch, which ends with the last one. Changes are reported to the
// deployment that owns the object.
func TestShared(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const bank = "shop/bank"
		mine := object("ConfigMap mine")
		its := object("ConfigMap its", func(o *metav1.PartialObjectMetadata) { o.Annotations[bundle.OwnerKey] = bank })
		w.put(mine)
		w.put(its)
		w.watches.Watch(account, store, ids("ConfigMap mine"))
		assert.Equal(t, []string{store}, w.news())
		w.watches.Watch(account, bank, ids("ConfigMap its"))
		assert.Empty(t, w.news(), "it works already")
		assert.Equal(t, 1, w.count("watch configmaps"))
		w.remove(its)
		assert.Equal(t, []string{bank}, w.news())
		w.watches.Forget(bank)
		w.remove(mine)
		assert.Equal(t, []string{store}, w.news(), "one still needs it")
		w.watches.Forget(store)
		w.put(mine)
		w.remove(mine)
		assert.Empty(t, w.news(), "none does")
		assert.Empty(t, w.watches.running)
		assert.Empty(t, w.watches.wanted)

		w.watches.Watch(account, store, ids("ConfigMap mine"))
		assert.Equal(t, []string{store}, w.news(), "it begins anew")
		assert.Equal(t, 2, w.count("watch configmaps"))
	})
}

// What a deployment no longer has is no longer watched, and another account watches for itself.
func TestWatchReplaces(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.watches.Watch(account, store, ids("ConfigMap settings", "ConfigMap page", "Deployment web"))
		assert.Equal(t, []string{store, store}, w.news())
		w.watches.Watch(account, store, ids("ConfigMap settings"))
		assert.Len(t, w.watches.running, 1)
		w.watches.Watch("system:serviceaccount:shop:other", store, ids("ConfigMap settings"))
		assert.Equal(t, []string{store}, w.news())
		assert.Len(t, w.watches.running, 1)
		assert.Equal(t, []string{account, account, "system:serviceaccount:shop:other"}, w.accounts)
		assert.Equal(t, 2, w.count("watch configmaps"))
	})
}

// Secrets are not watched (SAFETY.md S2), nor kinds that the cluster does not have; objects of the
// whole cluster are.
func TestTargets(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.watches.Watch(account, store, ids("Secret key", "Widget x", "Namespace shop", "ConfigMap a", "ConfigMap b"))
		w.news()
		for request, want := range map[string]int{
			"list secrets": 0, "watch secrets": 0, "list widgets": 0, "watch namespaces": 1, "watch configmaps": 1,
		} {
			assert.Equal(t, want, w.count(request), request)
		}
		var places []string
		for t := range w.watches.running {
			places = append(places, t.resource.Resource+"/"+t.namespace)
		}
		assert.ElementsMatch(t, []string{"namespaces/", "configmaps/shop"}, places)
	})
}

// What an account may not watch is known once the API server has answered, and is tried again
// when the time has come, and not before.
func TestForbidden(t *testing.T) {
	tests := map[string]struct{ why, request string }{
		"List":  {"it may neither list nor watch", "list configmaps"},
		"Watch": {"a list alone shows no change", "watch configmaps"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.forbid(test.request, forbidden())
				lacks := []bundle.Permission{{Verb: "watch", Resource: "configmaps", Namespace: "shop"}}
				watch := func() []bundle.Permission { return w.watches.Watch(account, store, ids("ConfigMap a")) }
				assert.Empty(t, watch(), "nothing is known yet")
				assert.Equal(t, []string{store}, w.news(), "it is known now")
				assert.Equal(t, lacks, watch(), test.why)
				assert.Equal(t, lacks, w.watches.Watch(account, "shop/bank", ids("ConfigMap a")), "so it is for others")
				w.pass(retry - 1)
				assert.Equal(t, lacks, watch())
				assert.Equal(t, 1, w.count(test.request), "it is left alone")
				w.pass(1)
				assert.Equal(t, lacks, watch())
				assert.Equal(t, 2, w.count(test.request))
				assert.Empty(t, w.news(), "that is known")
				assert.Equal(t, lacks, watch())
				assert.Equal(t, 2, w.count(test.request))

				w.forbid(test.request, nil)
				w.pass(retry)
				assert.Equal(t, lacks, watch(), "it is not known whether it works now")
				assert.Equal(t, []string{"shop/bank", store}, w.news(), "it is known now")
				assert.Empty(t, watch())
			})
		})
	}
}

// A permission that is taken away is noticed when the watch is renewed.
func TestRevoked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.watches.Watch(account, store, ids("ConfigMap a"))
		w.news()
		w.forbid("watch configmaps", forbidden())
		w.expire()
		w.pass(lastPause)
		assert.Equal(t, []string{store}, w.news())
		assert.Len(t, w.watches.Watch(account, store, ids("ConfigMap a")), 1)
	})
}

// A server that does not answer is tried again, less and less often, and what was missed meanwhile
// is reported then.
func TestUnreachable(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.put(object("ConfigMap " + name))
		}
		w.watches.Watch(account, store, ids("ConfigMap a"))
		assert.Equal(t, []string{store}, w.news())
		w.forbid("list configmaps", apierrors.NewInternalError(errors.New("etcd has no leader")))
		w.forbid("watch configmaps", errors.New("no route to host"))
		before := w.count("list configmaps")
		w.expire()
		w.pass(10 * lastPause)
		tries := w.count("list configmaps") - before
		assert.Greater(t, tries, 5)
		assert.Less(t, tries, 25, "it is not asked all the time")
		assert.Empty(t, w.watches.Watch(account, store, ids("ConfigMap a")), "no permission is missing")

		w.remove(object("ConfigMap a"))
		w.put(object("ConfigMap b", func(o *metav1.PartialObjectMetadata) { o.ResourceVersion = "2" }))
		w.forbid("list configmaps", nil)
		w.forbid("watch configmaps", nil)
		w.pass(2 * lastPause)
		assert.Equal(t, []string{store, store}, w.news(), "a is gone, and b is another")
	})
}

// Nothing is watched after the end.
func TestEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put(object("ConfigMap a"))
		w.watches.Watch(account, store, ids("ConfigMap a"))
		w.news()
		w.stop()
		w.pass(1)
		w.remove(object("ConfigMap a"))
		assert.Empty(t, w.news())
		w.watches.Watch(account, store, ids("Deployment web"))
		assert.Equal(t, 0, w.count("watch deployments"))
		w.watches.Forget(store)
	})
}

// The account acts, and not the controller.
func TestConnect(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1", BearerToken: "controller"}
	_, err := New(config, nil, retry, nil).connect(account)
	require.NoError(t, err)
	assert.Empty(t, config.Impersonate.UserName, "what others use stays as it is")
	_, err = New(&rest.Config{Host: "https://127.0.0.1:1:1"}, nil, retry, nil).connect(account)
	assert.Error(t, err)
}

// An object that is not metadata is refused.
func TestUpdateRefuses(t *testing.T) {
	one := &watch{set: New(nil, nil, retry, nil)}
	require.ErrorContains(t, one.Replace([]any{"text"}, ""), "cannot read metadata of string")
	require.NoError(t, one.Resync())
}
