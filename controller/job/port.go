package job

import (
	"context"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// Signs finds the signs of life of claimants.
type Signs interface {
	// Last returns the last renewal of a Run that was received; the zero value for none.
	Last(ctx context.Context, run string) (Sign, error)
}

// Sign is one renewal. Only a higher number of the same fence proves life.
type Sign struct {
	Fence, Number int64
	// Delay is what its keeper has to try again. One whose claim has failed has number 0.
	Delay job.Delay
}
