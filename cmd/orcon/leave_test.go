package main

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// slowUser answers a question once a time has passed.
type slowUser struct {
	io.Reader

	after time.Duration
}

func (u slowUser) Read(p []byte) (int, error) {
	<-time.After(u.after)
	return u.Reader.Read(p)
}

// The time limit of leave is that of the work: who reads for longer what is about to happen still has all of it.
func TestLeaveWaitsForTheAnswer(t *testing.T) {
	const limit = 2 * time.Second
	for _, way := range []string{"--keep", "--end"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			args := append([]string{"orcon", "leave", way, "--timeout", limit.String()}, answering(t, nil)...)
			code := run(context.Background(), args, slowUser{bytes.NewBufferString("y\n"), limit + 100*time.Millisecond}, &out, &errs)
			assert.Zero(t, code, "%s%s", out.String(), errs.String())
		})
	}
}
