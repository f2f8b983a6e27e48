package counts

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	toolscache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// records is a cache whose informer watches a source in memory; it has none without a source.
type records struct {
	cache.Cache

	ctx    context.Context //nolint:containedctx // the life of one test
	source *fcache.FakeControllerSource
}

var errUnknown = errors.New("no such kind")

func (r records) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if r.source == nil {
		return nil, errUnknown
	}
	informer := toolscache.NewSharedIndexInformer(r.source, o, 0, toolscache.Indexers{})
	go informer.RunWithContext(r.ctx)
	toolscache.WaitForCacheSync(r.ctx.Done(), informer.HasSynced)
	return informer, nil
}

// A count that falls or goes in the informer is raised again.
func TestFollow(t *testing.T) {
	server, counter := counting(3)
	require.ErrorIs(t, counter.Follow(t.Context(), records{}), errUnknown)
	source := fcache.NewFakeControllerSource()
	source.Add(counted(9))
	require.NoError(t, counter.Follow(t.Context(), records{ctx: t.Context(), source: source}))
	source.Modify(counted(3))
	becomes := func(id int64) {
		t.Helper()
		require.Eventually(t, func() bool { return last(t, server) == id }, time.Minute, 2*time.Millisecond)
	}
	becomes(9)
	source.Modify(counted(12))
	source.Delete(counted(12))
	becomes(12)
}
