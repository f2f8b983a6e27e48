package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
)

// listen serves a replica over real TLS and HTTP/2.
func serveTLS(t *testing.T, r *replica) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config = r.server.HTTP("", nil)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

type stream = connect.BidiStreamForClient[v1alpha1.ConverseRequest, v1alpha1.ConverseResponse]

func dial(t *testing.T, s *httptest.Server) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	opened := relationsv1alpha1connect.NewRelationsServiceClient(s.Client(), s.URL).Converse(ctx)
	t.Cleanup(func() {
		cancel()
		_ = opened.CloseRequest()
		_ = opened.CloseResponse()
	})
	return opened
}

func hello(t *testing.T, s *stream, token string, revisions map[string]uint64) {
	t.Helper()
	require.NoError(t, s.Send(&v1alpha1.ConverseRequest{Message: &v1alpha1.ConverseRequest_Hello{Hello: &v1alpha1.Hello{Token: token, Revisions: revisions}}}))
}

func readyReplica() *replica {
	r := newReplica()
	r.pod("blog-1")
	r.publish("one", 10)
	return r
}

func TestConverse(t *testing.T) {
	r := readyReplica()
	s := dial(t, serveTLS(t, r))
	hello(t, s, "token-blog-1", nil)
	first, err := s.Receive()
	require.NoError(t, err)
	assert.Equal(t, "one", first.GetSnapshot().GetRelations()[0].GetBag().GetData()["host"])
	assert.Equal(t, "blog", first.GetSnapshot().GetUnit().GetApplication())

	r.publish("two", 11)
	second, err := s.Receive()
	require.NoError(t, err)
	assert.Equal(t, "two", second.GetSnapshot().GetRelations()[0].GetBag().GetData()["host"])

	require.NoError(t, s.CloseRequest())
	_, err = s.Receive()
	require.ErrorIs(t, err, io.EOF, "an agent that goes is let go")
	require.Eventually(t, func() bool {
		r.server.hub.mu.Lock()
		defer r.server.hub.mu.Unlock()
		return len(r.server.hub.audiences) == 0
	}, 5*time.Second, 5*time.Millisecond)
}

func TestConverseRefuses(t *testing.T) {
	tests := map[string]struct {
		why   string
		first *v1alpha1.ConverseRequest
		want  connect.Code
	}{
		"NoHello": {
			why:   "nobody is served before it is known who asks",
			first: &v1alpha1.ConverseRequest{Message: &v1alpha1.ConverseRequest_Renew{Renew: &v1alpha1.Renew{Token: "token-blog-1"}}},
			want:  connect.CodeInvalidArgument,
		},
		"BadToken": {
			why:   "SAFETY.md S4",
			first: &v1alpha1.ConverseRequest{Message: &v1alpha1.ConverseRequest_Hello{Hello: &v1alpha1.Hello{Token: "garbage"}}},
			want:  connect.CodeUnauthenticated,
		},
		"Ahead": {
			why:   "SAFETY.md V4",
			first: &v1alpha1.ConverseRequest{Message: &v1alpha1.ConverseRequest_Hello{Hello: &v1alpha1.Hello{Token: "token-blog-1", Revisions: map[string]uint64{"databags": 99}}}},
			want:  connect.CodeUnavailable,
		},
		"TooMuch": {
			why:   "what an agent may say is small",
			first: &v1alpha1.ConverseRequest{Message: &v1alpha1.ConverseRequest_Hello{Hello: &v1alpha1.Hello{Token: string(bytes.Repeat([]byte("x"), maxRequest))}}},
			want:  connect.CodeInvalidArgument,
		},
	}
	server := serveTLS(t, readyReplica())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := dial(t, server)
			_ = s.Send(test.first)
			_, err := s.Receive()
			if name == "TooMuch" {
				require.Error(t, err, test.why)
				return
			}
			assert.Equal(t, test.want, connect.CodeOf(err), test.why)
		})
	}
}

// counted is a body that counts what is read of it.
type counted struct {
	io.ReadCloser

	read *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// TRUST.md U3: the body of a caller that proves nothing is not read, and only a transaction may be large.
func TestBodiesAreBounded(t *testing.T) {
	tests := map[string]struct {
		why, token, procedure string
		reads                 bool
		code                  int
	}{
		"Stranger": {why: "it proves nothing", token: "garbage", procedure: relationsv1alpha1connect.RelationsServiceCommitProcedure, code: http.StatusUnauthorized},
		"Large":    {why: "a report is small", token: "token-blog-1", procedure: relationsv1alpha1connect.RelationsServiceReportProcedure, reads: true, code: http.StatusTooManyRequests},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, read := serveTLS(t, readyReplica()), &atomic.Int64{}
			next := server.Config.Handler
			server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Body = counted{r.Body, read}
				next.ServeHTTP(w, r)
			})
			body := strings.NewReader(`{"waiting":"` + strings.Repeat("x", 1<<20) + `"}`)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+test.procedure, body)
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+test.token)
			res, err := server.Client().Do(req)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			assert.Equal(t, test.code, res.StatusCode, test.why)
			assert.Equal(t, test.reads, read.Load() > 0, test.why)
		})
	}
}

// get asks as a person with curl would.
func get(t *testing.T, s *httptest.Server, authorization string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+relationsv1alpha1connect.RelationsServiceGetProcedure, bytes.NewReader([]byte("{}")))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := s.Client().Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	var answer map[string]any
	require.NoError(t, json.NewDecoder(res.Body).Decode(&answer))
	return res.StatusCode, answer
}

func TestGetForPeople(t *testing.T) {
	server := serveTLS(t, readyReplica())
	code, answer := get(t, server, "Bearer token-blog-1")
	require.Equal(t, http.StatusOK, code)
	text, err := json.Marshal(answer)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"host":"one"`)
	assert.Contains(t, string(text), `"remoteApplication":"db"`)

	code, answer = get(t, server, "")
	assert.Equal(t, http.StatusUnauthorized, code)
	assert.Equal(t, "unauthenticated", answer["code"])
	code, _ = get(t, server, "Bearer garbage")
	assert.Equal(t, http.StatusUnauthorized, code)
}
