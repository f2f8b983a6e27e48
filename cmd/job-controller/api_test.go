package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
)

// free returns an address that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "localhost:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// A request that is under way when the process ends is answered; the server is the one of its certificate.
func TestServe(t *testing.T) {
	certFile, keyFile, text := certified(t)
	source, err := certificate.NewFiles(certFile, keyFile)
	require.NoError(t, err)
	came, goOn := make(chan struct{}), make(chan struct{})
	a := &api{http.Server{
		Addr: free(t), ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: source.GetCertificate},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				close(came)
				<-goOn
			}
			_, _ = io.WriteString(w, r.Proto)
		}),
	}}
	assert.False(t, a.NeedLeaderElection(), "each replica serves")
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Start(ctx) }()

	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(text))
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: "job-controller.orcon-system.svc"},
	}}
	get := func(path string) (string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+a.Addr+path, nil)
		if err != nil {
			return "", err
		}
		answer, err := client.Do(r)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		content, err := io.ReadAll(answer.Body)
		return string(content), err
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		got, err := get("/")
		assert.NoError(c, err)
		assert.Equal(c, "HTTP/2.0", got)
	}, time.Minute, 10*time.Millisecond)
	slow := make(chan string, 1)
	go func() {
		got, _ := get("/slow")
		slow <- got
	}()
	<-came
	end()
	close(goOn)
	assert.Equal(t, "HTTP/2.0", <-slow)
	require.NoError(t, <-ended)

	blocked, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", free(t))
	require.NoError(t, err)
	defer blocked.Close()
	taken := &api{http.Server{Addr: blocked.Addr().String(), ReadHeaderTimeout: time.Minute, TLSConfig: a.TLSConfig}}
	require.ErrorContains(t, taken.Start(t.Context()), "cannot serve the jobs API on "+taken.Addr)
}
