package collection_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/s3"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/collection"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/retention"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// stores are those that the collector is tested with.
var stores = map[string]func(t *testing.T) blob.Store{ //nolint:gochecknoglobals // a table
	"Directory": func(t *testing.T) blob.Store {
		store, err := directory.Open(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() })
		return store
	},
	"S3": func(t *testing.T) blob.Store {
		backend := s3mem.New()
		require.NoError(t, backend.CreateBucket("states"))
		server := httptest.NewServer(gofakes3.New(backend).Server())
		t.Cleanup(server.Close)
		store, err := s3.Open(t.Context(), s3.Settings{Endpoint: server.URL, Bucket: "states", AccessKey: "a", SecretKey: "s"})
		require.NoError(t, err)
		return store
	},
}

// bench is a store and a cluster, and a collector whose clock is ahead of theirs.
type bench struct {
	t         *testing.T
	store     blob.Store
	client    client.Client
	collector *collection.Collector
	events    *events.FakeRecorder
	ahead     time.Duration
	// unread is the error of reads of JobWorkspaces; nil for none.
	unread error
}

// each runs a test with each store.
func each(t *testing.T, test func(b *bench)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { test(newBench(t, open(t))) })
	}
}

func newBench(t *testing.T, store blob.Store) *bench {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	b := &bench{t: t, store: store, events: events.NewFakeRecorder(100)}
	b.client = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			return errors.Join(b.unread, c.Get(ctx, key, o, options...))
		},
	}).Build()
	b.collector = &collection.Collector{
		Reader: b.client, Store: store, Events: b.events, Now: func() time.Time { return time.Now().Add(b.ahead) },
	}
	return b
}

// put stores blobs of a Workspace, named FENCE/NAME.
func (b *bench) put(uid string, names ...string) {
	b.t.Helper()
	for _, name := range names {
		require.NoError(b.t, b.store.Put(b.t.Context(), key(b.t, uid, name), strings.NewReader("{}")))
	}
}

func key(t *testing.T, uid, name string) blob.Key {
	t.Helper()
	k := blob.Key{Workspace: uid}
	_, err := fmt.Sscanf(strings.Replace(name, "/", " ", 1), "%d %s", &k.Fence, &k.Name)
	require.NoError(t, err)
	return k
}

// archive returns the archive with a key.
func archive(t *testing.T, uid, name string) workspace.Blob {
	t.Helper()
	k := key(t, uid, name)
	return workspace.Blob{Digest: "sha256:" + k.Name, Key: k.String(), Fence: k.Fence}
}

// names returns the blobs of a Workspace.
func (b *bench) names(uid string) (all []string) {
	b.t.Helper()
	found, err := b.store.List(b.t.Context(), uid)
	require.NoError(b.t, err)
	for _, one := range found {
		all = append(all, fmt.Sprintf("%d/%s", one.Key.Fence, one.Key.Name))
	}
	return all
}

// workspace creates a Workspace.
func (b *bench) workspace(name string, w workspace.Workspace, logs *v1alpha1.JobLogPolicy) *v1alpha1.JobWorkspace {
	b.t.Helper()
	o := &v1alpha1.JobWorkspace{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name + "-uid")}, Spec: v1alpha1.JobWorkspaceSpec{Logs: logs},
	}
	convert.SetWorkspace(o, w)
	require.NoError(b.t, b.client.Create(b.t.Context(), o))
	return o
}

// collect collects after a time.
func (b *bench) collect(after time.Duration) {
	b.t.Helper()
	b.ahead = after
	require.NoError(b.t, b.collector.Collect(b.t.Context()))
}

// lineage returns a Workspace after five holds, with its blobs.
func (b *bench) lineage() workspace.Workspace {
	b.put("db-uid", "1/claimant", "1/state-1", "1/generation-0000000001", "1/log-stdout-0000000001", "1/run",
		"2/claimant", "2/state-kept", "2/state-checkpoint", "2/generation-0000000002", "2/log-stdout-0000000001", "2/run",
		"3/claimant", "3/state-orphan", "3/log-stdout-0000000001",
		"4/claimant", "4/state-discarded", "4/state-upload", "4/log-stdout-0000000001", "4/run",
		"5/claimant", "5/state-5", "5/generation-0000000003", "5/log-stdout-0000000001", "5/run",
		"6/claimant", "6/state-running")
	return workspace.Workspace{
		Fence: 6, State: workspace.Generation{Number: 3, Blob: archive(b.t, "db-uid", "5/state-5")},
		Kept: []workspace.Generation{{Number: 2, Blob: archive(b.t, "db-uid", "2/state-kept")}},
		Orphans: []workspace.Orphan{
			{Blob: archive(b.t, "db-uid", "3/state-orphan")}, {Blob: archive(b.t, "db-uid", "4/state-discarded"), Discarded: true},
		},
		Lock: workspace.Lock{Run: workspace.Run{UID: "r", Name: "r"}, Attempt: 1, Fence: 6, Claimant: workspace.Claimant{ID: "pod"}},
	}
}

// Unused archives are deleted, and logs of all but the newest runs. Young blobs stay, and those of a run, a
// generation or an orphan (JOBS.md J5 and J11).
func TestCollect(t *testing.T) {
	each(t, func(b *bench) {
		w := b.lineage()
		before := b.names("db-uid")
		b.workspace("db", w, &v1alpha1.JobLogPolicy{KeepRuns: 2})
		b.collect(retention.Age - time.Minute)
		young := []string{"1/log-stdout-0000000001", "2/log-stdout-0000000001"}
		assert.Equal(b.t, without(before, young...), b.names("db-uid"), "logs go by number, all else when it is a day old")
		want := without(before, append(young, "1/claimant", "1/state-1", "1/generation-0000000001", "1/run", "2/state-checkpoint",
			"4/state-discarded", "4/state-upload")...)
		for range 2 {
			b.collect(retention.Age + time.Minute)
			assert.Equal(b.t, want, b.names("db-uid"))
		}
		assert.Empty(b.t, b.events.Events)
	})
}

func without(all []string, gone ...string) (left []string) {
	for _, one := range all {
		if !strings.Contains(" "+strings.Join(gone, " ")+" ", " "+one+" ") {
			left = append(left, one)
		}
	}
	return left
}

// Logs go by age too, and never those of the last run (JOBS.md J11).
func TestOldLogs(t *testing.T) {
	each(t, func(b *bench) {
		b.put("db-uid", "1/log-stdout-0000000001", "1/run", "2/log-stdout-0000000001", "2/run", "2/state-2")
		w := workspace.Workspace{Fence: 2, State: workspace.Generation{Number: 1, Blob: archive(b.t, "db-uid", "2/state-2")}}
		b.workspace("db", w, &v1alpha1.JobLogPolicy{KeepFor: &metav1.Duration{Duration: 48 * time.Hour}})
		b.collect(47 * time.Hour)
		assert.Len(b.t, b.names("db-uid"), 5)
		b.collect(49 * time.Hour)
		assert.Equal(b.t, []string{"2/log-stdout-0000000001", "2/run", "2/state-2"}, b.names("db-uid"))
	})
}

// Nothing is deleted of a Workspace that the store is ahead of, or that cannot be read; an Event has the reason once (JOBS.md
// J5 and J20).
func TestNothingIsCollected(t *testing.T) {
	each(t, func(b *bench) {
		w := b.lineage()
		b.put("db-uid", "7/claimant")
		before := b.names("db-uid")
		b.workspace("db", w, &v1alpha1.JobLogPolicy{KeepRuns: 1})
		b.collect(100 * 24 * time.Hour)
		assert.Equal(b.t, before, b.names("db-uid"), "the store is ahead")
		require.NoError(b.t, b.store.Delete(b.t.Context(), key(b.t, "db-uid", "7/claimant")))
		b.unread = errors.New("connection refused")
		for range 2 {
			require.ErrorContains(b.t, b.collector.Collect(b.t.Context()), "cannot delete what JobWorkspace shop/db does not need: connection refused")
		}
		assert.Equal(b.t, before[:len(before)-1], b.names("db-uid"))
		assert.Contains(b.t, <-b.events.Events, "Warning CannotCollect cannot delete what JobWorkspace shop/db does not need")
		assert.Empty(b.t, b.events.Events)
		b.unread = nil
		b.collect(100 * 24 * time.Hour)
		assert.Less(b.t, len(b.names("db-uid")), len(before)-1)
	})
}

// What a Workspace left that is gone stays for 90 days, whether it has a record or is found by the collector; one that
// comes back, since its object was restored, keeps it (JOBS.md J18).
func TestLeft(t *testing.T) {
	each(t, func(b *bench) {
		b.put("db-uid", "1/state-1", "1/run")
		b.put("web-uid", "1/state-1")
		require.NoError(b.t, b.store.Put(b.t.Context(), key(b.t, "web-uid", "1/run"), strings.NewReader(`{"namespace": "shop", "workspace": "web"}`)))
		require.NoError(b.t, evidence.Leave(b.t.Context(), b.store, evidence.Left{Name: "shop/db", UID: "db-uid"}))
		b.collect(retention.LeftAge - time.Hour)
		left, err := evidence.LeftBy(b.t.Context(), b.store, "shop/web")
		require.NoError(b.t, err)
		assert.Len(b.t, left, 1, "it is recorded when it is first missed")
		assert.Len(b.t, b.names(""), 6)
		restored := b.workspace("web", workspace.Workspace{Fence: 1, State: workspace.Generation{Number: 1, Blob: archive(b.t, "web-uid", "1/state-1")}}, nil)
		b.collect(retention.LeftAge + time.Hour)
		assert.Equal(b.t, []string{"1/run", "1/state-1"}, b.names(""), "those of the Workspace that is there again")
		require.NoError(b.t, b.client.Delete(b.t.Context(), restored))
		b.collect(2 * retention.LeftAge)
		assert.Len(b.t, b.names(""), 3, "its time begins anew")
		b.collect(2*retention.LeftAge + time.Hour)
		assert.Empty(b.t, b.names(""))
	})
}

// A cluster that does not answer is none without Workspaces, and a store that fails midway goes on with the next collection.
func TestFailures(t *testing.T) {
	folder := t.TempDir()
	store, err := directory.Open(folder)
	require.NoError(t, err)
	b := newBench(t, store)
	b.put("db-uid", "1/state-1")
	require.NoError(t, evidence.Leave(t.Context(), store, evidence.Left{Name: "shop/db", UID: "db-uid"}))
	b.ahead = 2 * retention.LeftAge
	lists := interceptor.NewClient(b.client.(client.WithWatch), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no matches for kind")
		},
	})
	b.collector.Reader = lists
	require.ErrorContains(t, b.collector.Collect(t.Context()), "cannot list the JobWorkspaces: no matches for kind")
	assert.Len(t, b.names("db-uid"), 1)
	b.collector.Reader = b.client
	record, err := filepath.Glob(filepath.Join(folder, "left-*", "*", "db-uid"))
	require.NoError(t, err)
	require.Len(t, record, 1)
	require.NoError(t, os.WriteFile(record[0], []byte("{"), 0o600))
	require.ErrorContains(t, b.collector.Collect(t.Context()), "cannot list the store of states: cannot read blob left-")
	assert.Len(t, b.names("db-uid"), 1, "what cannot be read deletes nothing")
}

// JOBS.md J5: a content goes only a day after it was pushed, and only if no template, no version and no run of its namespace
// names it.
func TestContents(t *testing.T) {
	each(t, func(b *bench) {
		var digests []string
		for i := range 4 {
			var files bundle.Tree
			require.NoError(b.t, files.Add("main.tf", bundle.File{Content: []byte{byte(i)}}))
			for _, namespace := range []string{"shop", "bank"} {
				digest, err := contents.Put(b.t.Context(), b.store, namespace, &files)
				require.NoError(b.t, err)
				digests = append(digests, digest)
			}
		}
		named := []string{digests[0], digests[2], digests[4]}
		objects := []client.Object{
			&v1alpha1.JobTemplate{Spec: v1alpha1.JobTemplateSpec{Build: &v1alpha1.JobTemplateBuild{Source: v1alpha1.JobTemplateSource{Digest: named[0]}}}},
			&v1alpha1.JobTemplateVersion{Spec: v1alpha1.JobTemplateVersionSpec{Origin: v1alpha1.JobVersionOrigin{Content: named[1]}}},
			&v1alpha1.JobRun{State: &v1alpha1.JobRunState{Input: &v1alpha1.JobInput{Content: named[2]}}},
			&v1alpha1.JobTemplate{ObjectMeta: metav1.ObjectMeta{Name: "image"}},
		}
		for i, o := range objects {
			o.SetNamespace("shop")
			o.SetName(fmt.Sprintf("o%d", i))
			require.NoError(b.t, b.client.Create(b.t.Context(), o))
		}
		list := func(namespace string) (all []string) {
			found, err := contents.List(b.t.Context(), b.store, namespace)
			require.NoError(b.t, err)
			for _, one := range found {
				all = append(all, one.Digest)
			}
			return all
		}
		b.collect(retention.Age - time.Minute)
		assert.Len(b.t, list("shop"), 4)
		assert.Len(b.t, list("bank"), 4)
		b.collect(retention.Age + time.Minute)
		assert.ElementsMatch(b.t, named, list("shop"))
		assert.Empty(b.t, list("bank"), "another namespace names nothing")
		left, err := evidence.LeftBy(b.t.Context(), b.store, "")
		require.NoError(b.t, err)
		assert.Empty(b.t, left, "contents are no Workspace")
	})
}
