package agent

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

// crowded is a file in a volume that is full at times.
type crowded struct {
	File
	full bool
}

func (c *crowded) Replace(content []byte) error {
	if c.full {
		return syscall.ENOSPC
	}
	return c.File.Replace(content)
}

// What was handled while the disk was full is remembered as soon as that has room again, also if nothing else happens: a
// restart repeats at most the last event (RELATIONS.md E1, SAFETY.md I19).
func TestHandlersRememberOnceThereIsRoom(t *testing.T) {
	s := newStage(t)
	told := &crowded{File: s.agent.handlers.told.file}
	s.agent.handlers.told.file = told
	for range 2 {
		s.done(s.next(), "")
	}
	told.full = true
	for range 2 {
		s.done(s.next(), "")
	}
	s.nothing()
	told.full = false
	s.nothing()
	s.restart()
	s.nothing()
	assert.Equal(t, "all events are handled", s.agent.handlers.status())
}
