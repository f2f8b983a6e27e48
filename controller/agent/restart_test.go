package agent

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// An agent that starts again while the controller is away keeps <endpoint>/ of a relation whose granted Secret it cannot
// read yet, although an earlier relation of that endpoint has ended (SAFETY.md I19, W2).
func TestRestartKeepsGrantedFilesAfterAnEnd(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	a := New(settings(t, "db:pg", "db=password"), v.disk(), &controller{content: adminContent("hunter2")}, nil)
	a.Start()
	snapshot := grants(1, 1)
	snapshot.Relations = append(snapshot.Relations, &wire.Relation{
		Id: 3, Uid: "uid-3", Endpoint: "db", Interface: "pg", RemoteApplication: "old", Ended: true,
	})
	hear(a, snapshot)
	require.Equal(t, grantedFiles("hunter2"), v.tree(t)["db"])
	written := v.tree(t)

	next := New(settings(t, "db:pg", "db=password"), v.disk(), &controller{err: errors.New("no answer")}, nil)
	next.Start()
	assert.True(t, next.isOpen())
	assert.Equal(t, written, v.tree(t), "the relation lives, and so do its files")
}

// A restart of the agent is no change of the files: containers get no signal, also while a granted Secret cannot be read
// yet (SAFETY.md I24).
func TestRestartSignalsNobody(t *testing.T) {
	s := newSignalled(t)
	c := &controller{content: adminContent("hunter2")}
	s.agent.speech.speaker = c
	both := func(revision uint64, host string) *wire.Snapshot {
		snapshot := heardAt(revision)
		snapshot.Relations[0].Bag.Data["host"], snapshot.Relations[0].Complete = host, true
		snapshot.Relations = append(snapshot.Relations, grants(revision, 1).Relations...)
		return snapshot
	}
	hear(s.agent, both(1, "a"))
	hear(s.agent, both(2, "b"))
	require.Equal(t, []string{"HUP"}, s.got)

	c.err = errors.New("no answer")
	s.restart()
	s.agent.speech.speaker = c
	hear(s.agent, both(3, "b"))
	assert.Len(t, s.got, 1, "nothing has changed")
	c.err = nil
	s.agent.readAgain()
	assert.Len(t, s.got, 1, "the Secret is as it was")
	hear(s.agent, both(4, "c"))
	assert.Len(t, s.got, 2, "that is a change")
}
