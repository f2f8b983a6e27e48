package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// connections is how many clients ask at once, each over a connection of its
// own.
const connections = 100

// BenchmarkConnections measures one replica of the webhook as it ships, asked
// over TLS by a hundred connections of another process. The target is a p99 of
// 25 ms at 2,500 a second on 2 cores, with at most 64 MiB (DESIGN.md).
func BenchmarkConnections(b *testing.B) {
	b.Run("Paced", func(b *testing.B) { connect(b, 2500) })
	b.Run("AsFastAsItCan", func(b *testing.B) { connect(b, 0) })
}

// connect asks at a rate a second, in equal steps that do not wait for answers;
// or, where it is 0, each connection anew as soon as it has its answer.
func connect(b *testing.B, rate int) {
	const warming, length = 2 * time.Second, 15 * time.Second
	hook := newWorld(b).webhook()
	l := load{url: hook.url, body: captured(b)}
	if rate > 0 {
		l.every = connections * time.Second / time.Duration(rate)
	}
	for range connections {
		// HTTP/2 where it is offered, as the API server does.
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: hook.trust, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		l.clients = append(l.clients, &http.Client{Transport: transport, Timeout: patience})
	}
	l.run(b, warming)
	var (
		took []time.Duration
		over time.Duration
	)
	for b.Loop() {
		began := time.Now()
		took = append(took, l.run(b, length)...)
		over += time.Since(began)
	}
	report(b, "", took, "p50", "p99")
	b.ReportMetric(float64(len(took))/over.Seconds(), "requests/s")
	b.ReportMetric(hook.memory(b, "VmHWM"), "peak-MiB")
}

// load is what clients ask, and how often.
type load struct {
	url     string
	body    []byte
	clients []*http.Client
	// every is the time between two questions of one client; 0 for none.
	every time.Duration
}

// run asks for a while and returns how long each answer took.
func (l load) run(b *testing.B, length time.Duration) []time.Duration {
	b.Helper()
	var (
		group sync.WaitGroup
		begin = time.Now()
		each  = make([][]time.Duration, len(l.clients))
		all   []time.Duration
	)
	for i, client := range l.clients {
		group.Go(func() {
			first := begin.Add(l.every * time.Duration(i) / time.Duration(len(l.clients)))
			var err error
			if each[i], err = l.converse(b.Context(), client, first, begin.Add(length)); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
	for _, took := range each {
		all = append(all, took...)
	}
	return all
}

// converse asks from the first moment to the last. At a pace, an answer's time
// counts from when the question was due, whether or not it could be asked then:
// who is served late keeps the next ones waiting, and that is time too.
func (l load) converse(ctx context.Context, client *http.Client, first, last time.Time) (took []time.Duration, err error) {
	timer := time.NewTimer(time.Until(first))
	defer timer.Stop()
	<-timer.C
	for due := first; due.Before(last); {
		if err := l.ask(ctx, client); err != nil {
			return nil, err
		}
		took = append(took, time.Since(due))
		if l.every == 0 {
			due = time.Now()
			continue
		}
		due = due.Add(l.every)
		timer.Reset(time.Until(due))
		<-timer.C
	}
	return took, nil
}

// ask asks once, and fails unless the pod is injected.
func (l load) ask(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(l.body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("cannot read the webhook's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"patch":`)) {
		return fmt.Errorf("the webhook answered %s without a patch: %.200s", response.Status, answer)
	}
	return nil
}
