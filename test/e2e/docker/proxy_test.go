package docker_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
)

// reached is the address of the controller, whose name the proxy alone knows.
const reached = "controller.orcon.test:9443"

// proxy is a forward proxy, which makes tunnels to the controller unless it forbids them.
type proxy struct {
	listener net.Listener
	to       string

	mutex  sync.Mutex
	closed bool
}

func newProxy(t *testing.T, to string) *proxy {
	p := &proxy{to: to}
	var err error
	p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.listener.Close() })
	go func() {
		for {
			in, err := p.listener.Accept()
			if err != nil {
				return
			}
			go p.carry(in)
		}
	}()
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// forbid has the proxy refuse tunnels, or not.
func (p *proxy) forbid(closed bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.closed = closed
}

// carry makes one tunnel.
func (p *proxy) carry(in net.Conn) {
	defer in.Close()
	reader := bufio.NewReader(in)
	r, err := http.ReadRequest(reader)
	if err != nil || r.Method != http.MethodConnect {
		return
	}
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer out.Close()
	p.mutex.Lock()
	refused, answer := p.closed || r.Host != reached, "200 Connection established"
	p.mutex.Unlock()
	if refused {
		answer = "403 Forbidden"
	}
	if _, err := io.WriteString(in, "HTTP/1.1 "+answer+"\r\n\r\n"); err != nil || refused {
		return
	}
	go func() {
		_, _ = io.Copy(out, reader)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
}

// careless returns the socket of an engine that lets processes gain privileges.
func careless(t *testing.T) string {
	folder, err := os.MkdirTemp("", "e") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	socket := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	behind.FlushInterval = -1
	behind.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", docker.Socket())
	}}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/containers/create") {
			text, _ := io.ReadAll(r.Body)
			text = bytes.ReplaceAll(text, []byte(`["no-new-privileges"]`), []byte("[]"))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		}
		behind.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return socket
}
