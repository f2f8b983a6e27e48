package conversation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// How long a departure is owed to an application (SAFETY.md E15).
func TestDepartureIsOwed(t *testing.T) {
	left := unit("db/0")
	listener := func(name string, handler bool, what string) conversation.Listener {
		l := conversation.Listener{Unit: unit(name), Handler: handler}
		switch what {
		case "knows":
			l.Told.Members = map[conversation.Unit]conversation.Seen{left: {}}
		case "handled":
			l.Told.Departed = []conversation.Unit{left}
		}
		return l
	}
	tests := map[string]struct {
		why       string
		left      []conversation.Listener
		owed      bool
		inherited bool
	}{
		"Known":     {"a unit that knew it has not handled it", []conversation.Listener{listener("web/0", true, "knows"), listener("web/1", true, "handled")}, true, false},
		"Handled":   {"all that knew it have", []conversation.Listener{listener("web/0", true, "handled"), listener("web/1", true, "")}, false, false},
		"NoHandler": {"nobody with a handler has: it is inherited", []conversation.Listener{listener("web/0", false, "handled")}, true, true},
		"Stranger":  {"none is left that knew it", []conversation.Listener{listener("web/5", true, "")}, true, true},
		"Nobody":    {"no unit is left: it waits for a leader", nil, true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			owed, inherited := conversation.Tombstone{Unit: left}.Owed(test.left)
			assert.Equal(t, test.owed, owed, test.why)
			assert.Equal(t, test.inherited, inherited, test.why)
		})
	}
}
