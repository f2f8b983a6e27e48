package integration

import (
	"context"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// follower is the agent of a pod as far as its stream goes.
type follower struct {
	mu        sync.Mutex
	host      string
	hosts     map[string]string // of databags, by version
	revisions map[string]uint64
	// aged counts its streams that reached their age, and odd has what else went wrong.
	aged int
	odd  []string
}

// Used returns the revisions that the follower has used.
func (f *follower) Used() (revisions map[string]uint64, lastRelation int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.revisions, 0
}

// Eager is false: its gate is open.
func (f *follower) Eager() bool { return false }

// Connected does nothing.
func (f *follower) Connected() {}

// Received keeps what a databag, which is small, has of its host.
func (f *follower) Received(p *wire.Piece) error {
	bag, err := databag.Decode(string(p.GetText()))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts[p.GetVersion()] = bag["host"]
	return err
}

// Heard uses a snapshot, and notes one that is older than what was used (SAFETY.md V4).
func (f *follower) Heard(s *wire.Snapshot) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for kind, revision := range f.revisions {
		if s.GetRevisions()[kind] < revision {
			f.odd = append(f.odd, fmt.Sprintf("%s went back from %d to %d", kind, revision, s.GetRevisions()[kind]))
		}
	}
	f.revisions = s.GetRevisions()
	for _, r := range s.GetRelations() {
		f.host = f.hosts[r.GetBag().GetVersion()]
	}
	return nil
}

// Lost notes why a stream has ended.
func (f *follower) Lost(reason error, _ bool, _ time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch text := reason.Error(); {
	case strings.Contains(text, "greatest age"):
		f.aged++
	case !strings.Contains(text, "this replica is behind"): // which sends it to the other one
		f.odd = append(f.odd, text)
	}
}

// address returns the host and port of the API.
func (r *controllerReplica) address() string { return r.api.Listener.Addr().String() }

// follow runs the client of an agent for a pod, by a link, until the test ends.
func (w *controllerWorld) follow(link *chaos.Link, r *controllerReplica, pod *corev1.Pod) *follower {
	w.t.Helper()
	trust := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.api.Certificate().Raw})
	pace := stream.DefaultPace()
	pace.Greeting = streamAge / 2 // no stream ends before
	return w.followBy(&stream.Client{
		Address: "https://" + link.Address(), ServerName: "example.com", Trust: string(trust), Pace: pace,
	}, w.token(pod, identity.Audience))
}

// followBy runs the client of an agent, which knows its controllers, with a token until the test ends.
func (w *controllerWorld) followBy(c *stream.Client, token string) *follower {
	w.t.Helper()
	folder, f := w.t.TempDir(), &follower{hosts: map[string]string{}}
	c.TokenFile, c.TrustFile, c.TrustKept = filepath.Join(folder, "token"), filepath.Join(folder, "ca.crt"), filepath.Join(folder, "kept.crt")
	require.NoError(w.t, os.WriteFile(c.TokenFile, []byte(token), 0o600))
	c.Listener = f
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		<-done
	})
	return f
}

// shows reports whether the follower has that host.
func (f *follower) shows(host string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.host == host
}

// streamAge is the greatest age of the streams of replicas that run in the test's process.
const streamAge = 10 * time.Second

// TRUST.md A7: a replica that comes back has its part of the streams after a few of their ages, and no agent misses a
// change meanwhile.
func TestControllerStreamsSpread(t *testing.T) {
	w := newControllerWorld(t)
	const units = 12
	db, sleep := w.provider("db-endpoint", "db.tengu.io"), w.consumer("sleep", consumes("db", "db-endpoint"))
	sleep.Spec.Replicas = new(int32(units))
	w.create(db, sleep)
	var pods corev1.PodList
	w.eventually("its pods", func() bool {
		require.NoError(t, w.admin.List(w.ctx, &pods, client.InNamespace(w.namespace), client.MatchingLabels{"app": "sleep"}))
		return len(pods.Items) == units
	})
	w.streamAge = streamAge
	first := w.controller(-1)
	var replicas atomic.Value
	replicas.Store([]string{first.address()})
	link, err := chaos.NewLink(func() []string { return replicas.Load().([]string) }) //nolint:forcetypeassert // as stored
	require.NoError(t, err)
	t.Cleanup(link.Close)
	followers := make([]*follower, units)
	for i := range followers {
		followers[i] = w.follow(link, first, &pods.Items[i])
	}
	all := func(hold func(f *follower) bool) bool {
		for _, f := range followers {
			f.mu.Lock()
			holds := hold(f)
			f.mu.Unlock()
			if !holds {
				return false
			}
		}
		return true
	}
	w.eventually("the data at each agent", func() bool { return all(func(f *follower) bool { return f.host == "db.tengu.io" }) })

	second := w.controller(-1)
	replicas.Store([]string{first.address(), second.address()})
	aged, changes, longest := false, 0, time.Duration(0)
	for began := time.Now(); !aged && time.Since(began) < long; changes++ {
		host := fmt.Sprintf("db-%d.tengu.io", changes)
		changed := time.Now()
		w.change(db, func() { db.Spec.ExternalName = host })
		w.eventually("the change at each agent", func() bool { return all(func(f *follower) bool { return f.host == host }) })
		longest = max(longest, time.Since(changed))
		aged = all(func(f *follower) bool { return f.aged >= 3 })
	}
	t.Logf("%d changes, the slowest at all %d agents after %s", changes, units, longest.Round(10*time.Millisecond))
	assert.True(t, aged, "each agent has connected again three times")
	w.eventually("streams at both replicas", func() bool { return link.OpenTo(first.address()) > 0 && link.OpenTo(second.address()) > 0 })
	t.Logf("streams: %d and %d", link.OpenTo(first.address()), link.OpenTo(second.address()))
	for _, f := range followers {
		f.mu.Lock()
		assert.Empty(t, f.odd)
		f.mu.Unlock()
	}
}
