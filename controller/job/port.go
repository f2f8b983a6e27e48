package job

import "context"

// Signs finds the signs of life of claimants.
type Signs interface {
	// Last returns the last renewal of a Run that was received; the zero value for none.
	Last(ctx context.Context, run string) (Sign, error)
}

// Sign is one renewal. Only a higher number of the same fence proves life.
type Sign struct {
	Fence, Number int64
	// Waits tells why the state of a process that has ended is not stored yet; "" for no reason.
	Waits string
}
