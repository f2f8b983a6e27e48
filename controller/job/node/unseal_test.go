package node_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
)

// rot opens what has its mark.
type rot struct{}

// Unseal implements node.Seals.
func (rot) Unseal(_ context.Context, content io.Reader) (io.Reader, error) {
	text, err := io.ReadAll(content)
	plain, is := strings.CutPrefix(string(text), "sealed ")
	if !is {
		err = errors.New("no key opens it")
	}
	return strings.NewReader(plain), err
}

// JOBS.md J13: a body that a node has kept encrypted is served as if it came at once; one that no key opens is to be sent
// again, and nothing of a stranger is read.
func TestUnsealed(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	handler := node.Envelopes{Server: w.Server, Seals: rot{}, Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		_, _ = w.Write(text)
	})}
	w.mux.Handle("POST /sealed", handler)
	for label, tc := range map[string]struct {
		by           *caller
		sealed, text string
		code         int
		says         string
	}{
		"plain":    {c, "", "sealed a", http.StatusOK, "sealed a"},
		"sealed":   {c, "true", "sealed a", http.StatusOK, "a"},
		"no key":   {c, "true", "a", http.StatusServiceUnavailable, `"error":"cannot open what was kept: no key opens it","reason":"Unavailable"`},
		"stranger": {w.caller(), "true", "sealed a", http.StatusServiceUnavailable, "cannot find out who calls"},
	} {
		t.Run(label, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/sealed", strings.NewReader(tc.text))
			require.NoError(t, err)
			if tc.sealed != "" {
				r.Header.Set(runner.Sealed, tc.sealed)
			}
			answer, err := tc.by.http().Do(r)
			require.NoError(t, err)
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			assert.Equal(t, tc.code, answer.StatusCode)
			assert.Contains(t, string(text), tc.says)
		})
	}
	synced, err := c.sync("")
	require.NoError(t, err)
	assert.Equal(t, "age1", synced.GetRecipient(), "agents know to whom they encrypt")
	alone := httptest.NewRecorder()
	handler.ServeHTTP(alone, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("x")))
	assert.Equal(t, "x", alone.Body.String())
}
