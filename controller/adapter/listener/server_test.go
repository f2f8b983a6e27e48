package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gate serves requests that name their pod in a header, and holds them until it opens.
type gate struct {
	open chan struct{}
	errs chan error
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if pod := r.Header.Get("Pod"); pod != "" {
		done, err := Prove(r.Context(), pod)
		g.errs <- err
		if err != nil {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		defer done()
	}
	select {
	case <-g.open:
	case <-r.Context().Done():
	}
}

func serve(t *testing.T) (*httptest.Server, *gate) {
	t.Helper()
	g := &gate{open: make(chan struct{}), errs: make(chan error, 2*maxStrangersEach)}
	s := httptest.NewUnstartedServer(nil)
	s.Config = New("", g, nil)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, g
}

// agent makes requests on one connection of its own.
func agent(t *testing.T, s *httptest.Server) *http.Client {
	t.Helper()
	transport := s.Client().Transport.(*http.Transport).Clone() //nolint:forcetypeassert // httptest's
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func request(ctx context.Context, t *testing.T, s *httptest.Server, c *http.Client, pod string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Pod", pod)
	res, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode, nil
}

// dial opens a connection and proves nothing.
func dial(t *testing.T, s *httptest.Server) *tls.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		return nil
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ended reports whether the server has closed the connection.
func ended(c *tls.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := io.Copy(io.Discard, c)
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

// TRUST.md U3: what one address opens and proves nothing on is bounded, and ends.
func TestStrangersAreBounded(t *testing.T) {
	s, g := serve(t)
	var mu sync.Mutex
	var open []*tls.Conn
	var all sync.WaitGroup
	for range maxStrangersEach + 50 {
		all.Go(func() {
			if c := dial(t, s); c != nil {
				mu.Lock()
				defer mu.Unlock()
				open = append(open, c)
			}
		})
	}
	all.Wait()
	living := 0
	for _, c := range open {
		if !ended(c) {
			living++
		}
	}
	assert.LessOrEqual(t, living, maxStrangersEach)
	assert.GreaterOrEqual(t, living, maxStrangersEach-1)
	close(g.open)
	require.Eventually(t, func() bool { return ended(open[0]) }, proveWithin+10*time.Second, 100*time.Millisecond, "it has proven nothing in time")
	code, err := request(t.Context(), t, s, agent(t, s), "blog-1")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, code, "there is room for those that prove what they are")
}

// TRUST.md U3: a connection that has proven nothing has one request at a time, so that its requests hold little.
func TestStrangersWaitTheirTurn(t *testing.T) {
	s, g := serve(t)
	c := agent(t, s)
	codes := make(chan int, 10)
	for range 10 {
		go func() {
			code, _ := request(t.Context(), t, s, c, "")
			codes <- code
		}()
	}
	for range 9 {
		assert.Equal(t, http.StatusTooManyRequests, <-codes)
	}
	close(g.open)
	assert.Equal(t, http.StatusOK, <-codes)
}

// TRUST.md U3: a pod has so many requests at once, on however many connections, and other pods have theirs.
func TestRequestsOfAPodAreBounded(t *testing.T) {
	s, g := serve(t)
	var all sync.WaitGroup
	for range maxRequests {
		all.Go(func() { _, _ = request(t.Context(), t, s, agent(t, s), "blog-1") })
		require.NoError(t, <-g.errs)
	}
	code, err := request(t.Context(), t, s, agent(t, s), "blog-1")
	require.NoError(t, err)
	assert.Equal(t, http.StatusTooManyRequests, code)
	require.ErrorIs(t, <-g.errs, ErrTooMany)
	all.Go(func() { _, _ = request(t.Context(), t, s, agent(t, s), "blog-2") })
	require.NoError(t, <-g.errs, "another pod")
	close(g.open)
	all.Wait()
	code, err = request(t.Context(), t, s, agent(t, s), "blog-1")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, code, "what has ended counts no more")
}

// TRUST.md U3: a pod has so many connections.
func TestConnectionsOfAPodAreBounded(t *testing.T) {
	s, g := serve(t)
	close(g.open)
	clients := make([]*http.Client, maxConnections+1)
	for i := range clients {
		clients[i] = agent(t, s)
		_, err := request(t.Context(), t, s, clients[i], "blog-1")
		require.NoError(t, err)
		if i < maxConnections {
			require.NoError(t, <-g.errs)
		}
	}
	require.ErrorIs(t, <-g.errs, ErrTooMany)
	clients[0].CloseIdleConnections()
	require.Eventually(t, func() bool {
		_, err := request(t.Context(), t, s, clients[maxConnections], "blog-1")
		return err == nil && <-g.errs == nil
	}, 5*time.Second, 10*time.Millisecond, "one that is closed counts no more")
}
