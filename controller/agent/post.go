package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// The limits of one request to a handler over HTTP.
const (
	// postTime is how long an answer may take.
	postTime = 30 * time.Second
	// maxAnswer is how much of a refusal's body is read and told, in bytes.
	maxAnswer = 256
	// listenTime is how long a container may take to listen before that is a failure.
	listenTime = time.Minute
	// listenPause is how soon it is looked at again.
	listenPause = 100 * time.Millisecond
)

// Post tells the pod's own port of events, one at a time and each until it was
// handled, until ctx is done. It begins when the gate is open and somebody listens.
func (a *Agent) Post(ctx context.Context) {
	select {
	case <-a.gate:
	case <-ctx.Done():
		return
	}
	p := newPoster(a.settings.OnChange.Post)
	p.awaitListener(ctx)
	for {
		t, err := a.handlers.next(ctx)
		if err != nil {
			return
		}
		done := Done{Context: t.context, Handled: true}
		if err := p.tell(ctx, t.notification(a.settings.Namespace)); err != nil {
			done.Failure = err.Error()
		}
		if ctx.Err() != nil {
			return // what was not finished is told again
		}
		if err := a.handlers.Done(ctx, done); err != nil {
			glog.Warningf("%s: %v", t.describe(), err)
		}
	}
}

// poster sends notifications to one port and path of this pod, and to nowhere
// else: it asks no name server, uses no proxy and follows no redirection
// (SAFETY.md I24).
type poster struct {
	url, port string
	client    http.Client
}

func newPoster(to injection.Post) *poster {
	port := strconv.Itoa(to.Port)
	return &poster{
		url: "http://localhost:" + port + to.Path, port: port,
		client: http.Client{
			Timeout:       postTime,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DisableKeepAlives: true,
				DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dialLoopback(ctx, port) },
			},
		},
	}
}

// dialLoopback tries both loopback addresses: a server may listen on one alone.
func dialLoopback(ctx context.Context, port string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err == nil {
		return c, nil
	}
	if c, err := d.DialContext(ctx, "tcp", net.JoinHostPort("::1", port)); err == nil {
		return c, nil
	}
	return nil, err
}

// awaitListener waits for a container of the pod to listen: until it has started, that
// it does not is no failure.
func (p *poster) awaitListener(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listenTime)
	defer cancel()
	for {
		if c, err := dialLoopback(ctx, p.port); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-time.After(listenPause):
		case <-ctx.Done():
			glog.Warningf("nobody listens on port %s of this pod, after %s", p.port, listenTime)
			return
		}
	}
}

// tell sends a notification. An answer of 2xx says that it was handled.
func (p *poster) tell(ctx context.Context, n tool.Notification) error {
	body, err := json.Marshal(n) //nolint:gosec // it names a secret and holds none
	if err != nil {
		return fmt.Errorf("cannot write the event: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 == 2 {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // what came of it
	words := strings.Fields(strings.ToValidUTF8(string(said), ""))
	if len(said) == maxAnswer && len(words) > 0 {
		words = words[:len(words)-1] // part of a secret would not be known for one
	}
	text := strings.Join(words, " ")
	return fmt.Errorf("POST %s: answered %s: %s", p.url, response.Status, cmp.Or(text, "and said nothing"))
}
