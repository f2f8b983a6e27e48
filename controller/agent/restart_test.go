package agent

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
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

// After a restart of the agent, containers get a signal for files that change beside those of a relation whose Secret is not
// read, as long as a suspension lasts (SAFETY.md I24).
func TestRestartSignalsDuringASuspension(t *testing.T) {
	s := newSignalled(t)
	c := &controller{content: adminContent("hunter2")}
	s.agent.speech.speaker = c
	hears := func(revision uint64, host string, suspended bool) {
		snapshot := heardAt(revision)
		snapshot.Relations[0].Bag.Data["host"], snapshot.Relations[0].Complete = host, true
		granted := grants(revision, 1).Relations[0]
		if suspended {
			granted.Suspended, granted.Complete, granted.Granted, granted.Bag = true, false, nil, nil
		}
		snapshot.Relations = append(snapshot.Relations, granted)
		hear(s.agent, snapshot)
	}
	hears(1, "a", false)
	hears(2, "a", true)
	s.restart()
	s.agent.speech.speaker = c
	hears(3, "a", true)
	require.Empty(t, s.got, "nothing has changed")
	hears(4, "b", true)
	assert.Equal(t, []string{"HUP"}, s.got)
	hears(5, "b", false)
	assert.Len(t, s.got, 1, "the Secret is as it was")
}

// Without the content of a databag, which was lost with its file, an agent that starts again leaves the variables and
// <endpoint>/ as they are until the controller has sent it (TRUST.md U2, SAFETY.md I19, W2).
func TestRestartWithALostDatabag(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	a := New(settings(t, "db,mail", ""), v.disk(), &controller{}, nil)
	a.Start()
	relation := func(id int64, endpoint, host string) *wire.Relation {
		return &wire.Relation{Id: id, Endpoint: endpoint, Interface: endpoint, Complete: true,
			Bag: &wire.Databag{Data: map[string]string{"host": host}}}
	}
	first := &wire.Snapshot{Relations: []*wire.Relation{
		relation(1, "mail", "m"), relation(7, "db", strings.Repeat("seven", 20)), relation(8, "db", "eight"),
	}}
	hear(a, first)
	written, variables := v.tree(t), v.env(t)
	require.Contains(t, variables, "DB_HOST='sevenseven")
	disk := v.disk()
	require.NoError(t, os.Remove(v.path("state", "bags-1", databag.Version(first.Relations[1].Bag.Data))))

	again := New(settings(t, "db,mail", ""), disk, &controller{}, nil)
	again.Start()
	assert.True(t, again.isOpen())
	assert.Equal(t, variables, v.env(t), "a container that starts again has its variables")
	assert.Equal(t, written, v.tree(t), "<endpoint>/ stays with the older relation")
	hear(again, first)
	assert.Equal(t, written, v.tree(t), "and also when the controller has sent it anew")
	assert.Equal(t, variables, v.env(t))
}

// env returns the file of variables.
func (v volumes) env(t *testing.T) string {
	text, err := os.ReadFile(v.path("run", "env"))
	require.NoError(t, err)
	return string(text)
}
