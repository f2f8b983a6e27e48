package agent

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/spool"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// A handler is told which keys of a unit's databag differ from what it has handled, also if the databag has many keys, has had
// room in memory, and has changed while the agent was away (RELATIONS.md E10).
func TestDifferenceOverARestart(t *testing.T) {
	dir := t.TempDir()
	newVolumes(t, dir)
	start := func() *Agent {
		wanted, disk := settings(t, "store:pg", ""), volumes(dir).disk()
		wanted.Namespace, wanted.Tools = "shop", []string{injection.HandlerContainer}
		disk.Told, disk.Spool = bindings.NewPair(dir+"/state/told"), spool.New(dir+"/state/bags", 256<<10, func(err error) { panic(err) })
		a := New(wanted, disk, &controller{revision: 1, leader: &wire.LeadResponse{}}, nil)
		a.Start()
		return a
	}
	many := func(revision uint64, host string) *wire.Snapshot {
		snapshot := heardAt(revision)
		data := map[string]string{"host": host, "old-" + host: "x"}
		for n := range 200 {
			data[fmt.Sprint("key", n)] = "value"
		}
		snapshot.GetRelations()[0].Units[0].Bag.Data = data
		return snapshot
	}
	a := start()
	hear(a, many(1, "one"))
	for range 4 {
		turn, err := a.handlers.Next(t.Context())
		require.NoError(t, err)
		require.NoError(t, a.handlers.Done(t.Context(), Done{Context: turn.Context}))
	}

	again := start()
	hear(again, many(2, "two"))
	turn, _, _ := again.handlers.begin()
	require.NotNil(t, turn)
	difference := turn.Event.Difference
	difference.Before, difference.After = "", ""
	assert.Equal(t, conversation.Difference{Added: []string{"old-two"}, Changed: []string{"host"}, Removed: []string{"old-one"}}, difference)
	runtime.KeepAlive(a) // a process that is gone collects nothing
}
