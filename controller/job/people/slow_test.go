package people_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
)

// slow is a store that takes no archive in time.
type slow struct{ blob.Store }

// Put implements blob.Store.
func (s slow) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	if !strings.HasPrefix(key.Name, "state-") {
		return s.Store.Put(ctx, key, content)
	}
	<-ctx.Done()
	return ctx.Err()
}

// JOBS.md J6: a push whose archive the store does not take in time ends its hold at once.
func TestSlowPush(t *testing.T) {
	var api *people.API
	b := newBench(t, func(a *people.API) { api, a.Store = a, slow{a.Store} })
	content, _ := pack(t, map[string]string{"a": "b"})
	synctest.Test(t, func(t *testing.T) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, workspacePath(wire.Archives)+"?generation=0&because=x", bytes.NewReader(content))
		r.Header.Set("Person", "ann")
		answer := httptest.NewRecorder()
		api.Handler().ServeHTTP(answer, r)
		assert.Equal(t, http.StatusServiceUnavailable, answer.Code)
		assert.Contains(t, answer.Body.String(), "cannot push the state: context deadline exceeded")
	})
	assert.False(t, b.World.Workspace("w").Lock.Held())
}
