package identity

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// SAFETY.md S4: a token counts for one living pod, on its node.
func TestNames(t *testing.T) {
	id := Identity{UID: "uid-1", Account: "default", Node: "node-1"}
	tests := map[string]struct {
		why string
		id  Identity
		pod Pod
		is  bool
	}{
		"Pod":          {why: "its own", id: id, pod: Pod{UID: "uid-1", Account: "default", Node: "node-1"}, is: true},
		"NoNode":       {why: "an API server may bind tokens to no node", id: Identity{UID: "uid-1", Account: "default"}, pod: Pod{UID: "uid-1", Account: "default", Node: "node-1"}, is: true},
		"OtherNode":    {why: "it counts on the node of its pod", id: id, pod: Pod{UID: "uid-1", Account: "default", Node: "node-2"}},
		"NotScheduled": {why: "the caches are behind: they will show the node", id: id, pod: Pod{UID: "uid-1", Account: "default"}},
		"OtherUID":     {why: "a later pod of the name", id: id, pod: Pod{UID: "uid-2", Account: "default", Node: "node-1"}},
		"OtherAccount": {why: "another account", id: id, pod: Pod{UID: "uid-1", Account: "admin", Node: "node-1"}},
		"Finished":     {why: "it lives no more", id: id, pod: Pod{UID: "uid-1", Account: "default", Node: "node-1", Finished: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.is, test.id.Names(test.pod), test.why) })
	}
}

func TestSame(t *testing.T) {
	id := Identity{UID: "uid-1", Account: "default"}
	assert.True(t, id.Same(Identity{UID: "uid-1", Account: "default", Node: "node-1"}))
	assert.False(t, id.Same(Identity{UID: "uid-2", Account: "default"}))
	assert.False(t, id.Same(Identity{UID: "uid-1", Account: "admin"}))
}
