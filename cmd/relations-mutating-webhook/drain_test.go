package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A connection is kept until the process is to end, and then ended by an answer.
func TestDrain(t *testing.T) {
	var d drain
	handler := d.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	closes := func() string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mutate", nil))
		return w.Header().Get("Connection")
	}
	ctx, end := context.WithCancel(t.Context())
	later := d.until(ctx)
	assert.Empty(t, closes())
	end()
	require.Eventually(t, func() bool { return closes() == "close" }, time.Second, time.Millisecond)
	require.NoError(t, later.Err(), "it still answers")
	require.Eventually(t, func() bool { return later.Err() != nil }, 3*draining, 10*time.Millisecond)
}
