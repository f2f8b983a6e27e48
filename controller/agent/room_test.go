package agent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// roomless is a pod that wants a signal, with files of an endpoint that have no room in the volume.
func roomless(t *testing.T) (a *Agent, got *processes, hears func(revision uint64, host string)) {
	wanted := settings(t, "store:pg,cache?", "")
	wanted.OnChange.Signal = "HUP"
	dir := t.TempDir()
	disk := newVolumes(t, dir).disk()
	disk.Signalled, disk.Bindings = bindings.NewPair(dir+"/state/signalled"), &narrow{disk.Bindings, 1000}
	got = &processes{running: 1}
	a = New(wanted, disk, &controller{}, got)
	a.Start()
	t.Cleanup(func() { // no further attempt, in a folder that is gone
		a.mu.Lock()
		defer a.mu.Unlock()
		a.retry.Stop()
	})
	return a, got, func(revision uint64, host string) {
		snapshot := heardAt(revision)
		snapshot.Relations[0].Bag.Data["host"], snapshot.Relations[0].Complete = host, true
		large := &wire.Databag{Data: map[string]string{"host": strings.Repeat("x", 2000)}}
		snapshot.Relations = append(snapshot.Relations, &wire.Relation{Id: 8, Uid: "c", Endpoint: "cache", Role: "requires",
			RemoteApplication: "c", RemoteNamespace: "shop", Complete: true, Bag: large})
		hear(a, snapshot)
	}
}

// Containers get a signal for files that have changed, also while others have no room in the volume: the gate has opened
// without those (SAFETY.md I24, TRUST.md U2).
func TestSignalsWhileOtherFilesHaveNoRoom(t *testing.T) {
	a, got, hears := roomless(t)
	hears(1, "a")
	require.True(t, a.isOpen())
	require.Contains(t, a.report.failing, "no space left on device")
	hears(2, "b")
	assert.Equal(t, []string{"HUP"}, got.got)
	hears(3, "b")
	assert.Len(t, got.got, 1, "nothing is new")
}

// A change that has no room is none: the files are as they were, and no container gets a signal.
func TestNoSignalForFilesThatStay(t *testing.T) {
	a, got, hears := roomless(t)
	hears(1, "a")
	hears(2, strings.Repeat("y", 2000))
	assert.Empty(t, got.got)
	assert.Contains(t, a.report.failing, "store-7")
	hears(3, "a")
	assert.Empty(t, got.got)
	assert.NotContains(t, a.report.failing, "store")
}
