package agent

import (
	"context"
	"math/rand/v2"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// patiently calls f, and calls it again after each wait that the controller requests: writes that are put off fail no
// handler (TRUST.md U1). note gets the reason for a wait, and an empty text after it. Without note, as of a tool outside
// of handlers, it does not wait.
func patiently(ctx context.Context, note func(what string), f func() error) error {
	if note == nil {
		return f()
	}
	defer note("")
	for {
		err := f()
		wait := conversation.DelayOf(err)
		if wait == 0 {
			return err
		}
		wait += rand.N(wait/4 + time.Millisecond) //nolint:gosec // jitter: many units wait for one budget
		note("the controller to accept more writes: " + err.Error())
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
