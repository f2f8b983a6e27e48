package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// draining is how long connections are ended by an answer before the process ends. A
// connection that is closed while nothing is asked on it may just be asked something, which
// would be lost: an API server keeps one open for long, and asks on it at any time.
const draining = 2 * time.Second

// drain ends connections by an answer, once it has begun.
type drain struct{ begun atomic.Bool }

// handler answers as next does. After an answer that closes it, no client asks on a connection.
func (d *drain) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.begun.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// until returns a context that ends when connections have been drained after ctx.
func (d *drain) until(ctx context.Context) context.Context {
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		d.begun.Store(true)
		time.AfterFunc(draining, end)
	})
	return later
}
