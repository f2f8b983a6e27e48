package integration

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// A consumer sees a provider's change within 5 s after the leading process was killed, whichever replica it was connected
// to (TRUST.md A2).
func TestControllerTakesOverFromKilledLeader(t *testing.T) {
	w, leader := newBinaryWorld(t)
	for round := range 4 {
		next := w.replica()
		consumer, orphan := w.follow(next), w.connected(leader, next)
		w.eventually("the leader has answered the next one", func() bool { return strings.Contains(next.said.String(), " leads\n") })
		require.NoError(t, leader.cmd.Process.Signal(syscall.SIGKILL))
		began, host := time.Now(), fmt.Sprintf("db-%d.tengu.io", round)
		took := w.move(consumer, host)
		t.Logf("from the leader's death to the change at the consumer: %s", took.Round(10*time.Millisecond))
		assert.Less(t, took, 5*time.Second)
		w.eventually("the change at an agent that was connected to the leader", func() bool { return orphan.shows(host) })
		took = time.Since(began)
		t.Logf("from the leader's death to the change at its own agent: %s", took.Round(10*time.Millisecond))
		assert.Less(t, took, 5*time.Second)
		leader = next
	}
}

// connected runs the client of the consumer's agent, which is connected to the first of some replicas and finds the others.
func (w *binaryWorld) connected(first *controllerProcess, others ...*controllerProcess) *follower {
	w.t.Helper()
	var backends atomic.Value
	backends.Store([]string{first.address()})
	link, err := chaos.NewLink(func() []string { return backends.Load().([]string) }) //nolint:forcetypeassert // as stored
	require.NoError(w.t, err)
	w.t.Cleanup(link.Close)
	f := w.followBy(&stream.Client{
		Address: "https://" + link.Address(), ServerName: chaosServer, Trust: w.trust(), Pace: stream.DefaultPace(),
	}, w.bearer)
	w.eventually("the data at an agent of the first replica", func() bool { return f.shows(w.db.Spec.ExternalName) })
	all := []string{first.address()}
	for _, p := range others {
		all = append(all, p.address())
	}
	backends.Store(all)
	return f
}

// A leader that does not answer, as on a lost node, is replaced when its lease has expired; when it runs again it is no
// leader (TRUST.md A2).
func TestControllerTakesOverFromLostLeader(t *testing.T) {
	w, lost := newBinaryWorld(t)
	consumer := w.follow(w.replica())

	require.NoError(t, lost.cmd.Process.Signal(syscall.SIGSTOP))
	took := w.move(consumer, "db2.tengu.io")
	t.Logf("from the leader's loss to the change at the consumer: %s", took.Round(10*time.Millisecond))
	assert.Less(t, took, 20*time.Second)
	leads := w.leader()
	require.NoError(t, lost.cmd.Process.Signal(syscall.SIGCONT))
	w.eventually("it leads no longer", func() bool { return strings.Contains(lost.said.String(), "leads no longer") })
	assert.Equal(t, leads, w.leader())
}

// A replica that loses the Lease stops to write, at once, and goes on to serve its streams; it leads again when it can
// (TRUST.md A2).
func TestControllerThatLosesItsLeaseKeepsItsStreams(t *testing.T) {
	w, p := newBinaryWorld(t)
	consumer := w.follow(p)

	t.Log("another replica, which cannot be asked, holds the lease for 4 s")
	own, lease := w.leader(), w.lease()
	w.change(lease, func() {
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("other"), new(int32(4))
		lease.Spec.RenewTime = new(metav1.NowMicro())
	})
	w.eventually("it leads no longer", func() bool { return strings.Contains(p.said.String(), "leads no longer") })
	w.move(consumer, "db2.tengu.io")
	w.eventually("it leads again", func() bool { return w.leader() == own })
	assert.NotContains(t, p.said.String(), "panic")
}

// A consumer sees a provider's change within 5 s after the API server is back (TRUST.md A2).
func TestControllerFindsTheAPIServerAgain(t *testing.T) {
	w, p := newBinaryWorld(t)
	consumer := w.follow(p)

	w.cluster.Kill(t, "kube-apiserver")
	<-time.After(25 * time.Second) // longer than the term of a leader
	w.cluster.StartComponent(t, "kube-apiserver")
	took := w.move(consumer, "db2.tengu.io")
	t.Logf("from the API server's return to the change at the consumer: %s", took.Round(10*time.Millisecond))
	assert.Less(t, took, 5*time.Second)
	w.recovers()
}
