package s3_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/blobtest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/s3"
)

// serve returns the settings of an empty bucket.
func serve(t *testing.T) s3.Settings {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("blobs"))
	server := httptest.NewTLSServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	return s3.Settings{
		Endpoint: server.URL, Bucket: "blobs", Prefix: "/orcon/", Region: "us-east-1", AccessKey: "key", SecretKey: "secret",
		Transport: server.Client().Transport,
	}
}

func open(t *testing.T, s s3.Settings) *s3.Store {
	store, err := s3.Open(t.Context(), s)
	require.NoError(t, err)
	return store
}

// JOBS.md J12: a bucket is a store like any other.
func TestConformance(t *testing.T) {
	blobtest.Conformance(t, func(t *testing.T) blob.Store { return open(t, serve(t)) })
}

// JOBS-DESIGN.md 8: an upload that the server takes slowly holds up no other one.
func TestSlowUpload(t *testing.T) {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("blobs"))
	fast, begun, held := gofakes3.New(backend).Server(), make(chan struct{}), make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/slow") {
			close(begun)
			<-held
		}
		fast.ServeHTTP(w, r)
	}))
	defer server.Close()
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	store := open(t, s3.Settings{
		Endpoint: server.URL, Bucket: "blobs", Region: "us-east-1", AccessKey: "key", SecretKey: "secret", Transport: server.Client().Transport,
	})
	put := func(name string) <-chan error {
		done := make(chan error, 1)
		go func() {
			done <- store.Put(t.Context(), blob.Key{Workspace: "w", Fence: 1, Name: name}, strings.NewReader("x"))
		}()
		return done
	}
	slow := put("slow")
	<-begun
	select {
	case err := <-put("other"):
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		assert.Fail(t, "it waits for the slow one")
	}
	release()
	require.NoError(t, <-slow)
}

// What others store in the bucket is left alone.
func TestPrefix(t *testing.T) {
	settings := serve(t)
	one := open(t, settings)
	settings.Prefix = ""
	all := open(t, settings)
	key := blob.Key{Workspace: "w", Fence: 1, Name: "a"}
	require.NoError(t, one.Put(t.Context(), key, strings.NewReader("x")))
	require.NoError(t, all.Put(t.Context(), key, strings.NewReader("y")))
	for _, store := range []*s3.Store{one, all} {
		found, err := store.List(t.Context(), "")
		require.NoError(t, err)
		assert.Len(t, found, 1)
	}
	assert.Equal(t, "x", blobtest.Read(t, one, key))
}

func TestOpenRefuses(t *testing.T) {
	settings := serve(t)
	for _, endpoint := range []string{"", "s3.example.org", "ftp://s3.example.org", "https://s3.example.org/bucket", "://"} {
		other := settings
		other.Endpoint = endpoint
		_, err := s3.Open(t.Context(), other)
		require.ErrorContains(t, err, "write a URL without a path", endpoint)
	}
	settings.Bucket = "none"
	_, err := s3.Open(t.Context(), settings)
	require.ErrorContains(t, err, "it is not there: create it")
}

// An answer that is no S3 is an error, and no empty store.
func TestBrokenServer(t *testing.T) {
	settings := serve(t)
	store := open(t, settings)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.Trim(r.URL.Path, "/") == "blobs" {
			return
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	settings.Endpoint, settings.Transport = server.URL, server.Client().Transport
	broken := open(t, settings)
	key := blob.Key{Workspace: "w", Fence: 1, Name: "a"}
	require.NoError(t, store.Put(t.Context(), key, strings.NewReader("x")))
	_, err := broken.Get(t.Context(), key)
	require.Error(t, err)
	require.NotErrorIs(t, err, blob.ErrNotFound)
	require.Error(t, broken.Put(t.Context(), key, strings.NewReader("x")))
	_, err = broken.List(t.Context(), "")
	require.Error(t, err)
	require.Error(t, broken.Delete(t.Context(), key))
}
