package agent

import (
	"errors"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// The mark of the open gate is written as soon as the disk has room. Without it a pod that has all its data waits for the
// controller after a reboot of its node (SAFETY.md I19).
func TestTheOpenGateIsMarkedOnceThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVolumes(t, t.TempDir())
		disk := v.disk()
		mark := &crowded{File: disk.EverOpened, full: true}
		disk.EverOpened = mark
		a := New(settings(t, "db:pg", ""), disk, &controller{}, nil)
		a.Start()
		hear(a, grants(1, 0))
		require.True(t, a.isOpen())
		a.mu.Lock() // another attempt is planned
		mark.full = false
		a.mu.Unlock()
		pass(mostPause)
		assert.True(t, mark.Exists())

		v.reboot(t)
		again := New(settings(t, "db:pg", ""), v.disk(), &controller{err: errors.New("away")}, nil)
		again.Start()
		assert.True(t, again.isOpen(), "all its data is on the disk")
		runtime.KeepAlive(a)
	})
}
