package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// The limits of one request to a handler over HTTP.
const (
	// postTime is how long an answer may take.
	postTime = 30 * time.Second
	// maxAnswer is how much of a refusal's body is read and told, in bytes.
	maxAnswer = 256
	// listenTime is how long a port may refuse connections before an event fails: a server that is still starting
	// does not fail it.
	listenTime = time.Minute
	// listenPause is how soon the port is tried again.
	listenPause = 100 * time.Millisecond
	// listenReport is how long the port may refuse before an Event on the pod reports it;
	// a report that fails is repeated after reportAgain.
	listenReport = time.Second
)

// Post sends events to the pod's own port, one at a time and each until it was handled,
// until ctx is done. It begins when the gate is open.
func (a *Agent) Post(ctx context.Context) {
	select {
	case <-a.gate:
	case <-ctx.Done():
		return
	}
	p := newPoster(a.settings.OnChange.Post, a.handlers)
	for {
		t, err := a.handlers.next(ctx)
		if err != nil {
			return
		}
		if p.awaitListener(ctx, t.Event.Relation+" "+t.String()) {
			continue // the event that is owed now may be another
		}
		done := Done{Context: t.context, Handled: true}
		if err := p.send(ctx, t.notification(a.settings.Namespace)); err != nil {
			done.Failure = err.Error()
		}
		if ctx.Err() != nil {
			return // what was not finished is sent again
		}
		if err := a.handlers.Done(ctx, done); err != nil {
			glog.Warningf("%s: %v", t.String(), err)
		}
	}
}

// poster sends notifications to one port and path of this pod, and to nowhere
// else: it asks no name server, uses no proxy and follows no redirection
// (SAFETY.md I24).
type poster struct {
	url, port string
	client    http.Client
	handlers  *Handlers
	refused   refusal
	// reported is the last report since the port has refused connections.
	reported string
}

// refusal is a port that refuses connections when an event is to be sent; zero while it
// does not.
type refusal struct {
	event  string
	since  time.Time
	report time.Time // when to report it next
}

func newPoster(to injection.Post, handlers *Handlers) *poster {
	port := strconv.Itoa(to.Port)
	return &poster{
		url: "http://localhost:" + port + to.Path, port: port, handlers: handlers,
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

// awaitListener waits while the port refuses connections, at most listenTime from when
// it began to refuse an event, and reports whether it has waited. What it waits for is in
// the handlers' status from the first moment, and in an Event on the pod after listenReport.
func (p *poster) awaitListener(ctx context.Context, event string) (waited bool) {
	defer p.handlers.wait("")
	if p.refused.event != event {
		p.refused = refusal{event: event}
	}
	text := ""
	for ctx.Err() == nil {
		c, err := dialLoopback(ctx, p.port)
		if err == nil {
			_ = c.Close()
			p.refused, p.reported = refusal{}, ""
			return waited
		}
		if p.refused.since.IsZero() {
			p.refused.since, p.refused.report = time.Now(), time.Now().Add(listenReport)
		}
		if time.Since(p.refused.since) >= listenTime {
			return waited
		}
		if !waited {
			p.handlers.wait(fmt.Sprintf("port %s of this pod to answer %s: %v", p.port, p.url, root(err)))
			text = p.handlers.status()
		}
		waited = true
		p.report(ctx, text)
		select {
		case <-time.After(listenPause):
		case <-ctx.Done():
		}
	}
	return waited
}

// report logs and reports what the poster waits for: once, and again if that fails. The same text is not reported again when
// another event becomes the next one.
func (p *poster) report(ctx context.Context, text string) {
	if time.Now().Before(p.refused.report) {
		return
	}
	p.refused.report = p.refused.since.Add(listenTime)
	if text == p.reported {
		return
	}
	glog.Infof("%s", text)
	if err := p.handlers.speech.ReportWaiting(ctx, text); err != nil {
		p.refused.report = time.Now().Add(reportAgain)
		return
	}
	p.reported = text
}

// root returns the innermost cause of an error of the network: "connection refused".
func root(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// send posts a notification. An answer of 2xx means that it was handled.
func (p *poster) send(ctx context.Context, n tool.Notification) error {
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
		return fmt.Errorf("cannot POST to %s: %w", p.url, root(err))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 == 2 {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // what came of it
	words := strings.Fields(strings.ToValidUTF8(string(said), ""))
	text := strings.Join(words, " ")
	if len(said) == maxAnswer && len(words) > 1 {
		text = strings.Join(words[:len(words)-1], " ") + status.Cut // part of a secret would not be known for one
	} else if len(said) == maxAnswer {
		text = ""
	}
	return fmt.Errorf("cannot POST to %s: the answer is %s: %s", p.url, response.Status, cmp.Or(text, "without a body"))
}
