package jobs

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/s3"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/collection"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// bucket returns a bucket in place of a directory.
func bucket(t *testing.T) blob.Store {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("states"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	store, err := s3.Open(t.Context(), s3.Settings{Endpoint: server.URL, Bucket: "states", AccessKey: "a", SecretKey: "s"})
	require.NoError(t, err)
	return store
}

// What real runs leave is collected once it is old and nothing refers to it; the next run begins from the state that is kept.
// What a Workspace leaves stays for 90 days (JOBS.md J5, J11 and J18).
func TestCollect(t *testing.T) {
	t.Parallel()
	for label, choose := range map[string]func(blob.Store) blob.Store{
		"Directory": func(folder blob.Store) blob.Store { return folder }, "S3": func(blob.Store) blob.Store { return bucket(t) },
	} {
		t.Run(label, func(t *testing.T) {
			w := newWorldWith(t, choose, count, func(o *v1alpha1.JobWorkspace) {
				o.Spec.KeepGenerations, o.Spec.Logs = 1, &v1alpha1.JobLogPolicy{KeepRuns: 1}
			})
			for i := range 3 {
				name := fmt.Sprint("r", i)
				w.run(name)
				w.reaches(name, "Ready Succeeded")
				w.next(name)
			}
			uid := string(w.workspace().UID)
			require.NoError(t, w.store.Put(t.Context(), blob.Key{Workspace: uid, Fence: 2, Name: "state-lost"}, strings.NewReader("x")))
			fences, err := w.store.Fences(t.Context(), uid)
			require.NoError(t, err)
			require.Equal(t, []int64{1, 2, 3}, fences)
			controlplane.Eventually(t, func() bool {
				manifests, err := w.store.Below(t.Context(), uid, 3, evidence.RunName)
				return err == nil && len(manifests) > 0
			}, limit, "the last run has its manifest, by which logs are counted")
			var ahead time.Duration
			c := collection.Collector{
				Reader: w.client, Store: w.store, Events: events.NewFakeRecorder(10), Now: func() time.Time { return time.Now().Add(ahead) },
			}
			ahead = 25 * time.Hour
			require.NoError(t, c.Collect(t.Context()))
			fences, err = w.store.Fences(t.Context(), uid)
			require.NoError(t, err)
			assert.Equal(t, []int64{2, 3}, fences, "fence 2 has the generation that is kept")
			left, err := w.store.Below(t.Context(), uid, 2, "")
			require.NoError(t, err)
			assert.False(t, slices.ContainsFunc(left, func(one blob.Info) bool {
				return one.Key.Name == "state-lost" || strings.HasPrefix(one.Key.Name, "log-")
			}))
			w.run("last")
			w.reaches("last", "Ready Succeeded")
			assert.Equal(t, strings.Repeat("line\n", 4), w.out("last"))

			gone := w.workspace()
			require.NoError(t, w.client.Delete(t.Context(), gone))
			controlplane.Eventually(t, func() bool {
				return apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(gone), &v1alpha1.JobWorkspace{}))
			}, limit, "it goes")
			kept := func() int {
				all, err := w.store.List(t.Context(), uid)
				require.NoError(t, err)
				return len(all)
			}
			ahead = 89 * 24 * time.Hour
			require.NoError(t, c.Collect(t.Context()))
			assert.NotZero(t, kept())
			ahead = 91 * 24 * time.Hour
			require.NoError(t, c.Collect(t.Context()))
			assert.Zero(t, kept())
		})
	}
}
