package web_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/web"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// served starts a server and returns its address, and a count of the requests.
func served(t *testing.T, handle func(n int, w http.ResponseWriter, r *http.Request)) (address string, asked *int) {
	t.Helper()
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		handle(n, w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, &n
}

func client() web.Client {
	return web.Client{Silence: 5 * time.Second, Pause: time.Millisecond}
}

// half sends half of the content and breaks off.
func half(w http.ResponseWriter, content []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content[:len(content)/2])
	panic(http.ErrAbortHandler)
}

func TestFetch(t *testing.T) {
	content := bytes.Repeat([]byte("archive "), 100_000)
	sum := web.Sum(content)
	serve := func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.tgz", time.Time{}, bytes.NewReader(content))
	}
	tests := map[string]struct {
		why    string
		digest string
		handle func(n int, w http.ResponseWriter, r *http.Request)
		asked  int
	}{
		"AtOnce": {why: "all goes well", digest: sum, asked: 1, handle: func(_ int, w http.ResponseWriter, r *http.Request) { serve(w, r) }},
		"Busy": {why: "a server that is busy is asked again", digest: sum, asked: 3, handle: func(n int, w http.ResponseWriter, r *http.Request) {
			if n < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			serve(w, r)
		}},
		"Resumed": {why: "what is there is not sent again", digest: sum, asked: 2, handle: func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				half(w, content)
			}
			assert.Equal(t, "bytes="+strconv.Itoa(len(content)/2)+"-", r.Header.Get("Range"))
			serve(w, r)
		}},
		"Tagged": {why: "the server says that it is the same", asked: 2, handle: func(n int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if n == 1 {
				half(w, content)
			}
			assert.Equal(t, `"1"`, r.Header.Get("If-Range"))
			serve(w, r)
		}},
		"Anew": {why: "without checksum or tag halves may not fit", asked: 2, handle: func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				half(w, content)
			}
			assert.Empty(t, r.Header.Get("Range"))
			serve(w, r)
		}},
		"Ignored": {why: "a server without parts sends all", digest: sum, asked: 2, handle: func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				half(w, content)
			}
			_, _ = w.Write(content)
		}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			address, asked := served(t, tc.handle)
			got, err := client().Fetch(t.Context(), address+"/a.tgz", tc.digest)
			require.NoError(t, err, tc.why)
			assert.Equal(t, sum, web.Sum(got), tc.why)
			assert.Equal(t, tc.asked, *asked, tc.why)
		})
	}
}

// BUNDLES.md, invariant 1: a fetch that fails gives nothing and says why.
func TestFetchRefuses(t *testing.T) {
	tests := map[string]struct {
		why    string
		handle http.HandlerFunc
		want   string
		asked  int
	}{
		"NotFound":  {why: "404", handle: http.NotFound, want: "404 Not Found: check the address", asked: 1},
		"Forbidden": {why: "403", handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, want: "use credentials", asked: 1},
		"Broken":    {why: "500, each time", handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, want: "500", asked: 4},
		"Truncated": {why: "cut off, each time", handle: func(w http.ResponseWriter, _ *http.Request) { half(w, make([]byte, 100_000)) }, want: "connection broke after", asked: 4},
		"Digest":    {why: "other bytes", handle: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("other")) }, want: ", not sha256:", asked: 1},
		"Page": {why: "a login page", handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}, want: "the answer is a web page", asked: 1},
		"HiddenPage": {why: "a page that says it is an archive", handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/gzip")
			_, _ = w.Write([]byte("<!DOCTYPE html><html><body>Log in</body></html>"))
		}, want: "the answer is a web page", asked: 1},
		"Announced": {why: "too much, as it says", handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(bundle.MaxBytes+1))
		}, want: "too large", asked: 1},
		"Endless": {why: "too much, without saying so", handle: func(w http.ResponseWriter, _ *http.Request) {
			for part := make([]byte, 1<<20); ; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}, want: "too large", asked: 1},
		"Around": {why: "no end of redirections", handle: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }, want: "more than 5 redirects", asked: 6},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			address, asked := served(t, func(_ int, w http.ResponseWriter, r *http.Request) { tc.handle(w, r) })
			got, err := client().Fetch(t.Context(), address+"/a.tgz", "sha256:"+strings.Repeat("0", 64))
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.Nil(t, got, tc.why)
			assert.Equal(t, tc.asked, *asked, tc.why)
		})
	}
}

// tripper carries requests.
type tripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// BUNDLES.md, invariant 1: a server that hangs is left, before its answer and in it.
func TestFetchHangs(t *testing.T) {
	for label, begun := range map[string]bool{"Silent": false, "Begun": true} {
		t.Run(label, func(t *testing.T) {
			address, _ := served(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				if begun {
					_, _ = w.Write([]byte("x"))
					_ = http.NewResponseController(w).Flush() // it may be gone already
				}
				<-r.Context().Done()
			})
			asked := 0
			c := client()
			c.Silence = 20 * time.Millisecond
			c.Transport = tripper(func(r *http.Request) (*http.Response, error) {
				asked++
				return http.DefaultTransport.RoundTrip(r)
			})
			_, err := c.Fetch(t.Context(), address, "")
			require.ErrorContains(t, err, "sent nothing for 20ms")
			assert.Equal(t, 4, asked)

			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err = client().Fetch(ctx, address, "")
			require.ErrorIs(t, err, context.DeadlineExceeded, "whoever waits sets a limit to all of it")
		})
	}
}

// Credentials go to the server that they are for, and into no error
// (BUNDLES.md, invariant 10).
func TestFetchCredentials(t *testing.T) {
	var elsewhere string
	other, _ := served(t, func(_ int, _ http.ResponseWriter, r *http.Request) { elsewhere = r.Header.Get("Authorization") })
	other = strings.Replace(other, "127.0.0.1", "localhost", 1)
	address, _ := served(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		switch user, password, _ := r.BasicAuth(); {
		case r.URL.Path == "/away":
			http.Redirect(w, r, other, http.StatusFound)
		case r.Header.Get("Authorization") == "Bearer hush", user == "me" && password == "hush":
			_, _ = w.Write([]byte("x"))
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	for _, credentials := range []bundle.Credentials{{Token: "hush"}, {Username: "me", Password: "hush"}} {
		c := client()
		c.Credentials = credentials
		_, err := c.Fetch(t.Context(), address, "")
		require.NoError(t, err)
		_, err = c.Fetch(t.Context(), address+"/away", "")
		require.NoError(t, err)
		assert.Empty(t, elsewhere)
	}
	c := client()
	c.Credentials = bundle.Credentials{Token: "hush, but wrong"}
	_, err := c.Fetch(t.Context(), address, "")
	require.ErrorContains(t, err, "401")
	assert.NotContains(t, err.Error(), "hush")
}

// CONTENT.md X6: credentials do not go to another port of the host either, and a server that refuses to answer without
// them is no riddle.
func TestFetchCredentialsOfAnotherPort(t *testing.T) {
	var elsewhere []string
	other, _ := served(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	})
	address, _ := served(t, func(_ int, w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) })
	c := client()
	c.Credentials = bundle.Credentials{Token: "hush"}
	_, err := c.Fetch(t.Context(), address, "")
	assert.Equal(t, []string{""}, elsewhere)
	require.ErrorContains(t, err, "the server answered 401 Unauthorized: it redirected to another host or port, to which the credentials are not "+
		"sent: use the address that it redirects to")
}

// CONTENT.md X6: nor to another scheme, whose port is another one although none is written.
func TestFetchCredentialsOfAnotherScheme(t *testing.T) {
	sent := map[string]string{}
	c := client()
	c.Credentials = bundle.Credentials{Token: "hush"}
	c.Transport = tripper(func(r *http.Request) (*http.Response, error) {
		sent[r.URL.String()] = r.Header.Get("Authorization")
		answer := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("x")), Request: r}
		if r.URL.Scheme == "http" {
			answer.StatusCode, answer.Header = http.StatusFound, http.Header{"Location": {"https://localhost/b"}}
		}
		return answer, nil
	})
	_, err := c.Fetch(t.Context(), "http://localhost/a", "")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"http://localhost/a": "Bearer hush", "https://localhost/b": ""}, sent)
}

// CONTENT.md X6: credentials do not go over plain HTTP, but to the machine itself.
func TestFetchCredentialsWithoutTLS(t *testing.T) {
	asked := 0
	c := client()
	c.Transport = tripper(func(r *http.Request) (*http.Response, error) {
		asked++
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("x")), Request: r}, nil
	})
	_, err := c.Fetch(t.Context(), "http://example.org/a.tgz", "")
	require.NoError(t, err, "what is open to all may be fetched")
	asked = 0
	for _, credentials := range []bundle.Credentials{{Token: "hush"}, {Username: "me", Password: "hush"}} {
		c.Credentials = credentials
		_, err = c.Fetch(t.Context(), "http://example.org/a.tgz", "")
		require.ErrorContains(t, err, "credentials are not sent without TLS: use https://, or remove the credentials")
		assert.Zero(t, asked)
	}
	for _, address := range []string{"http://localhost:1/a", "http://127.0.0.1:1/a", "http://[::1]:1/a", "https://example.org/a"} {
		_, err = c.Fetch(t.Context(), address, "")
		require.NoError(t, err, address)
	}
}

// CONTENT.md X6: what no redirect may lead to is final at once.
func TestFetchRedirectsAreFinal(t *testing.T) {
	for _, target := range []string{"ftp://example.org/a", "file:///etc/passwd", "gopher://x", "javascript:alert(1)"} {
		address, asked := served(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusFound)
		})
		_, err := client().Fetch(t.Context(), address, "")
		require.ErrorContains(t, err, "it redirects to an address that is neither https:// nor http://: check the address", target)
		assert.NotContains(t, err.Error(), target)
		assert.Equal(t, 1, *asked, target)
	}
}

// TLS is not given up on the way.
func TestFetchKeepsTLS(t *testing.T) {
	open, _ := served(t, func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) })
	server := httptest.NewTLSServer(http.RedirectHandler(open, http.StatusFound))
	defer server.Close()
	c := client()
	c.Transport = server.Client().Transport
	_, err := c.Fetch(t.Context(), server.URL, "")
	require.ErrorContains(t, err, "which has no TLS")
}

// An answer is asked for again from its beginning, whatever its media type is (FLEET.md D5).
func TestAsk(t *testing.T) {
	address, asked := served(t, func(n int, w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		assert.Empty(t, r.Header.Get("Range"))
		w.Header().Set("ETag", `"1"`)
		if n == 1 {
			half(w, bytes.Repeat([]byte("x"), 1000))
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(r.Method + " " + r.Header.Get("Content-Type") + " " + string(body)))
	})
	answer, err := client().Ask(t.Context(), address, []byte("{}"))
	require.NoError(t, err)
	assert.Equal(t, "POST application/json {}", string(answer))
	assert.Equal(t, 2, *asked)
	answer, err = client().Ask(t.Context(), address, nil)
	require.NoError(t, err)
	assert.Equal(t, "GET  ", string(answer))

	for status, missing := range map[int]bool{http.StatusNotFound: true, http.StatusConflict: true, http.StatusGone: true, http.StatusBadRequest: false} {
		address, asked = served(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		answer, err = client().Ask(t.Context(), address, nil)
		require.Error(t, err)
		assert.Equal(t, missing, errors.Is(err, web.ErrMissing), status)
		assert.Nil(t, answer)
		assert.Equal(t, 1, *asked)
	}
	address, _ = served(t, func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<!DOCTYPE html>")) })
	_, err = client().Ask(t.Context(), address, nil)
	require.ErrorContains(t, err, "a web page, not data")
}
