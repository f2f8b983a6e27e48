// Package meter counts the bytes of objects that are written to the API server, and read from it, for one request of an
// agent.
//
// What must not come in: budgets.
package meter

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
)

type key struct{}

// Bytes counts bytes so far.
type Bytes struct{ written, read atomic.Int64 }

// Written returns how many were stored.
func (b *Bytes) Written() int64 { return b.written.Load() }

// Read returns how many the API server answered with.
func (b *Bytes) Read() int64 { return b.read.Load() }

// Count has the requests with the returned context counted.
func Count(ctx context.Context) (counted context.Context, bytes *Bytes) {
	bytes = &Bytes{}
	return context.WithValue(ctx, key{}, bytes), bytes
}

// Wrap returns a transport that counts each object that is stored by next: as many bytes as it is sent with, which are
// those that the API server stores, but for what it adds itself. A write that fails, or is only tried, stores nothing.
// It counts what is read of the answers, too.
func Wrap(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	bytes, counts := r.Context().Value(key{}).(*Bytes)
	if !counts || err != nil {
		return response, err
	}
	writes := r.Method != http.MethodGet && !r.URL.Query().Has("dryRun")
	if writes && response.StatusCode < http.StatusMultipleChoices && r.ContentLength > 0 {
		bytes.written.Add(r.ContentLength)
	}
	response.Body = body{response.Body, bytes}
	return response, nil
}

// body counts what is read of it.
type body struct {
	io.ReadCloser

	bytes *Bytes
}

// Read reads.
func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.read.Add(int64(n))
	return n, err
}
