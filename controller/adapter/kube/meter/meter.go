// Package meter counts the bytes of objects that are written to the API server for one request of an agent.
//
// What must not come in: budgets.
package meter

import (
	"context"
	"net/http"
	"sync/atomic"
)

type key struct{}

// Count has the writes with the returned context counted. The function returns the bytes so far.
func Count(ctx context.Context) (counted context.Context, bytes func() int64) {
	n := &atomic.Int64{}
	return context.WithValue(ctx, key{}, n), n.Load
}

// Wrap returns a transport that counts each object that is stored by next: as many bytes as it is sent with, which are
// those that the API server stores, but for what it adds itself. A write that fails, or is only tried, stores nothing.
func Wrap(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	n, counts := r.Context().Value(key{}).(*atomic.Int64)
	writes := r.Method != http.MethodGet && !r.URL.Query().Has("dryRun")
	if counts && writes && err == nil && response.StatusCode < http.StatusMultipleChoices && r.ContentLength > 0 {
		n.Add(r.ContentLength)
	}
	return response, err
}
