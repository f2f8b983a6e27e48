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
