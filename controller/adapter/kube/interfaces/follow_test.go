package interfaces

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// informers is a cache that reads from memory and whose informers fail at first.
type informers struct {
	cache.Cache
	kubetest.Memory

	mu    sync.Mutex
	fails int
	asked []client.Object
}

func (i *informers) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fails > 0 {
		i.fails--
		return nil, errors.New("no such kind")
	}
	i.asked = append(i.asked, o)
	return nil, nil //nolint:nilnil // no caller uses the informer
}

func (i *informers) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	return i.Memory.Get(ctx, key, into, opts...)
}

func (i *informers) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	return i.Memory.List(ctx, into, opts...)
}

// A cluster without the kind is served with the built-in interfaces; once the kind is there, the published
// ones count.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(nil)
		require.NoError(t, err)
		cached := &informers{Memory: kubetest.Memory{}, fails: 2}
		cached.Put(kubetest.Published(t, kubetest.Flags), kubetest.Judging("shop", schema.Enforce))
		followed := make(chan error)
		go func() { followed <- c.Follow(t.Context(), cached) }()
		synctest.Wait()
		_, found := c.Find(t.Context(), "flags", 1)
		assert.False(t, found, "the kind is not installed yet")
		_, found = c.Find(t.Context(), "http", 1)
		assert.True(t, found)
		assert.Equal(t, schema.Warn, c.Mode(t.Context(), "shop"))

		began := time.Now()
		require.NoError(t, <-followed)
		assert.Equal(t, 2*retryFollow, time.Since(began))
		assert.Len(t, cached.asked, 2, "namespaces, whose labels are read, and interfaces")
		_, found = c.Find(t.Context(), "flags", 1)
		assert.True(t, found)
		assert.Equal(t, schema.Enforce, c.Mode(t.Context(), "shop"))
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	c, err := New(nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, c.Follow(ctx, &informers{fails: 1}), "cannot follow *v1.Namespace")
}

// Variables of pods are the fields of the interface that is in force, but for secrets.
func TestFields(t *testing.T) {
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	c := interfaces(t, server)
	endpoint := application.Endpoint{Name: "store", Interface: "flags", Version: 1}
	assert.Empty(t, c.Fields(endpoint))
	server.Kept.Put(kubetest.Published(t, kubetest.Flags))
	assert.Equal(t, []string{"url"}, c.Fields(endpoint))
}

// An outage leaves the status of a published interface as it is.
func TestJudgeInAnOutage(t *testing.T) {
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	server.Kept.Put(kubetest.Published(t, kubetest.Flags))
	c := interfaces(t, server)
	c.reader = kubetest.Silent{Failed: kubetest.ErrGone}
	require.ErrorIs(t, c.Judge(t.Context(), "flags-v1"), kubetest.ErrGone)
	assert.Empty(t, c.Versions(t.Context(), "flags"))
	assert.Zero(t, server.Writes)

	c.reader = server.Kept
	server.Most, server.Writes = 1, 1
	require.ErrorContains(t, c.Judge(t.Context(), "flags-v1"), "cannot write the status of interface flags-v1")
	server.Most = 0
	require.NoError(t, c.Judge(t.Context(), "flags-v1"))
	var o v1alpha1.Interface
	require.NoError(t, server.Get(t.Context(), client.ObjectKey{Name: "flags-v1"}, &o))
	assert.True(t, meta.IsStatusConditionTrue(o.Status.Conditions, "Ready"))
}
