package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// listener is a container that hears of events over HTTP.
type listener struct {
	*httptest.Server
	mu    sync.Mutex
	heard []tool.Notification
	// answer is given instead of 200, once for each of its entries.
	answer []http.HandlerFunc
	// look is called with each event, before it is answered.
	look func(tool.Notification)
}

func newListener(t *testing.T) *listener {
	l := &listener{look: func(tool.Notification) {}}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n tool.Notification
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &n)
		}
		assert.NoError(t, err)
		assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
		assert.Equal(t, "/changed?x=y", r.RequestURI)
		l.look(n)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.heard = append(l.heard, n)
		if len(l.answer) > 0 {
			answer := l.answer[0]
			l.answer = l.answer[1:]
			answer(w, r)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) hooks() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, n := range l.heard {
		all = append(all, strings.TrimSpace(n.Hook+" "+n.RemoteUnit+strings.Join(n.JoinedUnits, " ")))
	}
	return all
}

// post returns the settings of a pod that hears over HTTP at the listener.
func (l *listener) post(t *testing.T) Settings {
	u, err := url.Parse(l.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	s := settings(t, "store:pg?", "")
	s.Namespace, s.OnChange.Post = "shop", injection.Post{Port: port, Path: "/changed?x=y"}
	return s
}

// starts runs an agent with these settings until the test ends or stop is called.
func starts(t *testing.T, s Settings, c *controller, dir string) (a *Agent, stop func()) {
	disk := newVolumes(t, dir).disk()
	disk.Told = bindings.NewPair(dir + "/state/told")
	a = New(s, disk, c, nil)
	a.Start()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.Post(ctx) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return a, stop
}

// A container hears of events over HTTP in order, finds what is new in its files
// already, and its tools speak in the event's transaction; what was handled is not
// told again after a restart (RELATIONS.md E1, E5–E7, E10, E11).
func TestPost(t *testing.T) {
	t.Parallel()
	l, c, dir := newListener(t), &controller{revision: 1, leader: &wire.LeadResponse{}}, t.TempDir()
	a, stop := starts(t, l.post(t), c, dir)
	l.look = func(n tool.Notification) {
		if n.Hook == "store-relation-changed" && n.RemoteUnit == "" {
			assert.Equal(t, "h", volumes(dir).tree(t)["store"]["host"], "the files come first")
			call := tool.Call{Name: "relation-set", Args: []string{"-r", "7", "seen=yes"}, Env: map[string]string{tool.ContextID: n.Context}}
			assert.Zero(t, a.runTool(t.Context(), call).ExitCode)
			assert.Empty(t, c.commits, "nobody hears of it before the event was handled")
		}
	}
	hear(a, heardAt(1))
	all := []string{"store-relation-created", "store-relation-changed", "store-relation-joined db/0", "store-relation-changed db/0"}
	require.Eventually(t, func() bool { return a.handlers.status() == "all events are handled" && len(l.hooks()) == 4 }, 10*time.Second, time.Millisecond)
	assert.Equal(t, all, l.hooks())
	require.Len(t, c.commits, 1)
	first, second := l.heard[0], l.heard[1]
	assert.Equal(t, "web/2 shop store:7 db 1", strings.Join([]string{first.Unit, first.Model, first.Relation, first.RemoteApplication, strconv.Itoa(first.Attempt)}, " "))
	assert.Contains(t, second.Difference.Added, "host", "RELATIONS.md E10")
	text, err := json.Marshal(l.heard)
	require.NoError(t, err)
	assert.NotContains(t, string(text), `"h"`, "keys and versions, never values")

	stop()
	l.look = func(tool.Notification) {}
	again, _ := starts(t, l.post(t), c, dir)
	hear(again, heardAt(1))
	changed := heardAt(2)
	changed.Relations[0].Bag.Data["host"] = "h2"
	hear(again, changed)
	require.Eventually(t, func() bool { return len(l.hooks()) == 5 }, 10*time.Second, time.Millisecond)
	assert.Equal(t, []string{"host"}, l.heard[4].Difference.Changed)
}

// A change of a bag of many keys is told key by key, also by the next process, and no key is in memory (RELATIONS.md E10,
// TRUST.md U2).
func TestPostOfManyKeys(t *testing.T) {
	t.Parallel()
	l, c, dir := newListener(t), &controller{revision: 1, leader: &wire.LeadResponse{}}, t.TempDir()
	many := func(revision uint64, host string) *wire.Snapshot {
		snapshot := heardAt(revision)
		data := map[string]string{"host": host}
		for n := range 1000 {
			data[fmt.Sprint("key", n)] = "value"
		}
		snapshot.GetRelations()[0].Bag.Data = data
		return snapshot
	}
	handled := func(a *Agent, hooks int) {
		require.Eventually(t, func() bool { return a.handlers.status() == "all events are handled" && len(l.hooks()) == hooks }, 10*time.Second, time.Millisecond)
	}
	a, stop := starts(t, l.post(t), c, dir)
	hear(a, many(1, "one"))
	handled(a, 4)
	hear(a, many(2, "two"))
	handled(a, 5)
	assert.Equal(t, []string{"host"}, l.heard[4].Difference.Changed)
	text, err := json.Marshal(a.handlers.told.Memory)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "key1")

	stop()
	again, _ := starts(t, l.post(t), c, dir)
	hear(again, many(3, "three"))
	handled(again, 6)
	assert.Equal(t, []string{"host"}, l.heard[5].Difference.Changed)
}

// What is not answered with 2xx is told again after a pause, and nothing is sent
// anywhere else (SAFETY.md I24, RELATIONS.md E11).
func TestPostIsRefused(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		assert.Fail(t, "a redirection was followed")
	}))
	t.Cleanup(elsewhere.Close)
	tests := map[string]struct {
		why    string
		answer http.HandlerFunc
		want   string
	}{
		"Failure": {why: "the handler's fault", answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no such\ntable", http.StatusInternalServerError)
		}, want: "the answer is 500 Internal Server Error: no such table"},
		"Redirection": {why: "leads out of the pod", answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, want: "the answer is 307 Temporary Redirect: without a body"},
		"Endless": {why: "is not read to its end", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			for range 1 << 20 {
				if _, err := w.Write([]byte(strings.Repeat("no ", 1024))); err != nil {
					return
				}
			}
		}, want: "the answer is 400 Bad Request: no no no"},
		"Secret": {why: "a word that is cut is not told: a part is not known for a secret", answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the token is "+strings.Repeat("s", maxAnswer), http.StatusInternalServerError)
		}, want: "the answer is 500 Internal Server Error: the token is"},
		"Cut": {why: "no answer", answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: "EOF"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, c := newListener(t), &controller{revision: 1, leader: &wire.LeadResponse{}}
			l.answer = []http.HandlerFunc{test.answer}
			a, _ := starts(t, l.post(t), c, t.TempDir())
			hear(a, heardAt(1))
			require.Eventually(t, func() bool { return strings.Contains(a.handlers.status(), test.want) }, 10*time.Second, time.Millisecond, test.why)
			assert.Contains(t, a.handlers.status(), "store-relation-created (db) failed, attempt 1, next attempt at ")
			require.Eventually(t, func() bool { return len(l.hooks()) == 5 }, 10*time.Second, time.Millisecond, "called again")
			assert.Equal(t, 2, l.heard[1].Attempt)
			assert.Equal(t, l.heard[0].Hook, l.heard[1].Hook, "in order")
		})
	}
}

// A server that does not listen yet is waited for: the agent's status names the port, the
// cause and how many events wait, an Event on the pod does so too, and both stop when the
// events are handled. It is no failure.
func TestPostWaitsForAListener(t *testing.T) {
	t.Parallel()
	listener, c := newListener(t), &controller{revision: 1, leader: &wire.LeadResponse{}}
	s := listener.post(t)
	address := listener.Listener.Addr().String()
	listener.Close()
	a, _ := starts(t, s, c, t.TempDir())
	assert.Equal(t, "all events are handled", a.handlers.status(), "there is none yet")

	hear(a, heardAt(1))
	want := fmt.Sprintf("waiting for port %d of this pod to answer http://localhost:%d/changed?x=y: connection refused; 4 events are waiting", s.OnChange.Post.Port, s.OnChange.Post.Port)
	require.Eventually(t, func() bool { return a.handlers.status() == want }, listenReport, time.Millisecond, "at once")
	waits := func() []string { c.mu.Lock(); defer c.mu.Unlock(); return slices.Clone(c.waits) }
	require.Eventually(t, func() bool { return len(waits()) > 0 }, 10*time.Second, time.Millisecond)

	again, err := net.Listen("tcp", address)
	require.NoError(t, err)
	restarted := &http.Server{Handler: listener.Config.Handler, ReadHeaderTimeout: time.Second}
	t.Cleanup(func() { _ = restarted.Close() })
	go func() { _ = restarted.Serve(again) }()
	require.Eventually(t, func() bool { return a.handlers.status() == "all events are handled" }, 10*time.Second, time.Millisecond)
	assert.Equal(t, []string{want}, waits(), "once")
	assert.Len(t, listener.hooks(), 4)
	for _, failing := range c.reports {
		assert.Nil(t, failing, "a server that is still starting is no failure")
	}
}

// A port that refuses for longer than a server takes to start is a failure, until
// something listens; then the next outage has its time anew.
func TestPostRefusedForLong(t *testing.T) {
	t.Parallel()
	listener, c := newListener(t), &controller{revision: 1, leader: &wire.LeadResponse{}}
	s := listener.post(t)
	disk := newVolumes(t, t.TempDir()).disk()
	disk.Told = bindings.NewPair(t.TempDir() + "/told")
	a := New(s, disk, c, nil)
	p := newPoster(s.OnChange.Post, a.handlers)
	p.refused = refusal{event: "joined", since: time.Now().Add(-listenTime)}
	assert.False(t, p.awaitListener(t.Context(), "joined"), "it listens")
	assert.Zero(t, p.refused)
	listener.Close()
	p.refused = refusal{event: "joined", since: time.Now().Add(-listenTime)}
	assert.False(t, p.awaitListener(t.Context(), "joined"), "it has had its time")
	require.EqualError(t, p.send(t.Context(), tool.Notification{}), "cannot POST to "+p.url+": connection refused")
	assert.Empty(t, c.waits)
	ctx, cancel := context.WithTimeout(t.Context(), 3*listenPause)
	defer cancel()
	assert.True(t, p.awaitListener(ctx, "changed"), "another event has its time anew")
}

// While the port refuses, another event becomes the next one, as when the unit begins to lead: what was reported is not
// reported again.
func TestPostReportsOnce(t *testing.T) {
	t.Parallel()
	listener, c := newListener(t), &controller{revision: 1, leader: &wire.LeadResponse{}}
	p := newPoster(listener.post(t).OnChange.Post, &Handlers{speech: NewSpeech(c)})
	for _, event := range []string{"joined", "leader-elected"} {
		p.refused = refusal{event: event, since: time.Now()}
		p.report(t.Context(), "waiting for port 80; 3 events are waiting")
	}
	assert.Len(t, c.waits, 1)
	p.report(t.Context(), "waiting for port 80; 4 events are waiting")
	assert.Len(t, c.waits, 1, "one event has one report")
	assert.False(t, p.awaitListener(t.Context(), "leader-elected"), "it listens")
	p.refused = refusal{event: "leader-elected", since: time.Now()}
	p.report(t.Context(), "waiting for port 80; 3 events are waiting")
	assert.Len(t, c.waits, 2, "another outage")
}

// A report that fails is repeated after a while, not with each look at the port.
func TestFailingReportIsRepeatedSlowly(t *testing.T) {
	c := &controller{mute: errors.New("the controller is away")}
	p := &poster{handlers: &Handlers{speech: NewSpeech(c)}}
	synctest.Test(t, func(t *testing.T) {
		p.refused = refusal{since: time.Now(), report: time.Now().Add(listenReport)}
		for time.Since(p.refused.since) < listenTime {
			p.report(t.Context(), "waiting for port 80")
			<-time.After(listenPause)
		}
	})
	assert.Equal(t, 6, c.tried, "once a second after the refusal, then each 10 s")
}

// RELATIONS.md E12: a first join is one event, and later ones are told one by one.
func TestPostABatch(t *testing.T) {
	t.Parallel()
	l, c := newListener(t), &controller{revision: 1, leader: &wire.LeadResponse{}}
	s := l.post(t)
	s.Batch = true
	a, _ := starts(t, s, c, t.TempDir())
	many := heardAt(1)
	many.Relations[0].Units = append(many.Relations[0].Units, &wire.RemoteUnit{Number: 10, Bag: &wire.Databag{Data: map[string]string{"a": "b"}}})
	hear(a, many)
	require.Eventually(t, func() bool { return len(l.hooks()) == 2 }, 10*time.Second, time.Millisecond)
	assert.Equal(t, []string{"store-relation-created", "store-relation-joined db/0 db/10"}, l.hooks())
	assert.Contains(t, l.heard[1].Difference.Added, "host", "with what their application said")
}
