package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A terminal shows how far long work has come; a log does not.
func TestRenderProgress(t *testing.T) {
	for live, want := range map[int]string{0: "", 80: "\r\x1b[K2s · rendered 20 of 30 members that may change\r\x1b[K"} {
		var errs bytes.Buffer
		now := time.Unix(0, 0)
		p := newRenderProgress(screen{errs: &errs, live: live}, 30)
		p.activity.now, p.activity.began = func() time.Time { return now }, now
		for range 15 {
			p.add()
		}
		now = now.Add(2 * time.Second)
		for range 15 {
			p.add()
		}
		p.end()
		assert.Equal(t, want, errs.String())
	}
}
