package content_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
)

// hush is what a server sends that no error may show.
const hush = "hush-hush"

// speaks listens, and sends each connection the same bytes.
func speaks(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprint(conn, text)
			_ = conn.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

// TestErrorsQuoteNothing fetches from servers that are none for content: what they send appears in no
// error, or a source would show what its author may not read (TRUST.md R4).
func TestErrorsQuoteNothing(t *testing.T) {
	answer := func(status int, kind string) string {
		return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nWWW-Authenticate: %[2]s\r\nConnection: close\r\n\r\n%[2]s", status, hush, kind)
	}
	servers := map[string]string{
		"Body":      answer(http.StatusOK, "text/plain"),
		"NotFound":  answer(http.StatusNotFound, "text/plain"),
		"Broken":    answer(http.StatusConflict, "text/plain"),
		"Denied":    answer(http.StatusUnauthorized, "text/plain"),
		"Forbidden": answer(http.StatusForbidden, "text/plain"),
		"JSON":      strings.Replace(answer(http.StatusForbidden, "application/json"), "\r\n\r\n"+hush, "\r\n\r\n"+`{"errors":[{"code":"DENIED","message":"`+hush+`"}]}`, 1),
		"Kind":      answer(http.StatusOK, hush),
		"Redis":     "-ERR " + hush + "\r\n",
		"Header":    "HTTP/1.1 200 OK\r\n" + hush + "\r\n\r\n",
		"Status":    "HTTP/1.1 " + hush + "\r\n\r\n",
		"Pack":      "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nConnection: close\r\n\r\n001e# service=git-upload-pack\n0000000d" + hush,
		"Redirect":  "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/" + hush + "\r\nConnection: close\r\n\r\n",
	}
	for label, text := range servers {
		address := speaks(t, text)
		host := strings.TrimPrefix(address, "http://")
		for _, reference := range []string{
			address + "/a.tgz", "git+" + address + "/a", "git+" + address + "/a@main", "oci://" + host + "/a:v1", "oci://" + host + "/a@sha256:" + strings.Repeat("0", 64),
		} {
			t.Run(label+" "+strings.ReplaceAll(reference, host, "HOST"), func(t *testing.T) {
				t.Parallel()
				_, _, err := content.Fetcher{Track: true}.Fetch(t.Context(), parsed(t, reference))
				require.Error(t, err)
				assert.NotContains(t, err.Error(), hush)
			})
		}
	}
}

// TestCacheIsForWhoCouldFetch has private content fetched with credentials: without them it is not
// served from the cache (TRUST.md R3).
func TestCacheIsForWhoCouldFetch(t *testing.T) {
	text := packed(t, "a.yaml", "x")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+hush {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(text)
	}))
	defer server.Close()
	source := parsed(t, server.URL+"/a.tar#sha256="+sum(text))
	f := content.Fetcher{Cache: content.Cache{Folder: t.TempDir()}}
	source.Credentials.Token = hush
	_, _, err := f.Fetch(t.Context(), source)
	require.NoError(t, err)
	for _, token := range []string{"", "another"} {
		source.Credentials.Token = token
		_, _, err = f.Fetch(t.Context(), source)
		require.ErrorContains(t, err, "401", "token %q", token)
	}
	server.Close()
	source.Credentials.Token = hush
	_, _, err = f.Fetch(t.Context(), source)
	require.NoError(t, err, "whoever could fetch it is served from the cache")
}
