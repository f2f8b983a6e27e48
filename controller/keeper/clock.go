package keeper

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootTime returns the time since the machine started, which goes on while it is suspended.
func BootTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic(err) // every Linux has this clock
	}
	return time.Duration(now.Nano())
}

// lost reports whether the template must be stopped because the holder cannot know that it holds the workspace: its
// last acknowledged renewal was sent too long ago (JOBS-DESIGN.md 4).
func (h Hold) lost(now, acknowledged time.Duration) bool {
	return !h.Exclusive && now-acknowledged >= h.Lost
}
