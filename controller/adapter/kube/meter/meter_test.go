package meter_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/meter"
)

// TRUST.md U1: what is stored for a request is counted, and what is read, refused or for others is not; what is read is
// counted by itself.
func TestCount(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusConflict)
			return
		}
		_, _ = w.Write([]byte("abc"))
	}))
	defer server.Close()
	client := &http.Client{Transport: meter.Wrap(http.DefaultTransport)}
	ctx, bytes := meter.Count(t.Context())
	send := func(method, path string) {
		request, err := http.NewRequestWithContext(ctx, method, server.URL+path, strings.NewReader("0123456789"))
		require.NoError(t, err)
		response, err := client.Do(request)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	send(http.MethodPut, "/")
	send(http.MethodPost, "/")
	assert.EqualValues(t, 20, bytes.Written())
	send(http.MethodGet, "/")
	send(http.MethodPut, "/refused")
	send(http.MethodPut, "/?dryRun=All")
	assert.EqualValues(t, 20, bytes.Written())
	assert.EqualValues(t, 12, bytes.Read(), "four answers")
	other := ctx
	ctx = t.Context()
	send(http.MethodPut, "/")
	ctx, _ = meter.Count(other)
	send(http.MethodPut, "/")
	assert.EqualValues(t, 20, bytes.Written(), "the writes of others")
}

// broken is a transport that reaches nothing.
type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("out of reach")
}

// What is not sent is not counted, but the error is returned.
func TestNothingIsSent(t *testing.T) {
	ctx, bytes := meter.Count(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://cluster", strings.NewReader("0123456789"))
	require.NoError(t, err)
	_, err = meter.Wrap(broken{}).RoundTrip(request) //nolint:bodyclose // there is none
	require.ErrorContains(t, err, "out of reach")
	assert.Zero(t, bytes.Written()+bytes.Read())
}
