package review_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/review"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/scan"
)

// TestTooLong: a client that sends the whole of a request over the limit gets its
// answer, with the request's uid, over a connection that stays usable (INJECTION.md
// I13). An API server shows a reset connection as the webhook's failure.
func TestTooLong(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(review.Handler[struct{}]{
				Concerns: func(*review.Request[struct{}]) bool { return true },
				Read:     func(c *scan.Cursor, _ *struct{}) { c.Skip() },
				Judge:    func(*review.Request[struct{}]) review.Answer { return review.Answer{} },
			})
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			client := server.Client()
			if !http2 {
				client = &http.Client{Transport: dial(t, server)}
			}

			for _, size := range []int{review.MaxBody, review.MaxBody + 1, 4 * review.MaxBody, review.MaxBody} {
				want := http.StatusOK
				if size > review.MaxBody {
					want = http.StatusRequestEntityTooLarge
				}
				status, answer := send(t, client, server.URL, size)
				assert.Equal(t, want, status, size)
				assert.EqualValues(t, "a uid", answer.UID, size)
				assert.Equal(t, want == http.StatusOK, answer.Allowed, size)
			}
		})
	}
}

// patient is a connection on which the whole of a request is sent before its answer is
// read.
type patient struct {
	*tls.Conn
	answers *bufio.Reader
}

func dial(t *testing.T, server *httptest.Server) patient {
	t.Helper()
	transport, is := server.Client().Transport.(*http.Transport)
	require.True(t, is)
	conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs, ServerName: "example.com", MinVersion: tls.VersionTLS12})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return patient{conn, bufio.NewReader(conn)}
}

// RoundTrip sends a request and reads its answer.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Write(p); err != nil {
		return nil, err
	}
	return http.ReadResponse(p.answers, r)
}

// send posts an AdmissionReview of that size.
func send(t *testing.T, client *http.Client, url string, size int) (status int, answer *admissionv1.AdmissionResponse) {
	t.Helper()
	head, tail := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a uid","object":"`, `"}}`
	body := head + string(bytes.Repeat([]byte("x"), size-len(head)-len(tail))) + tail
	response, err := client.Post(url, "application/json", bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	defer func() { assert.NoError(t, response.Body.Close()) }()
	said, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var got admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(said, &got))
	require.NotNil(t, got.Response)
	return response.StatusCode, got.Response
}
