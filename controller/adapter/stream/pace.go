package stream

import (
	"math/rand/v2"
	"time"
)

// Pace is how long a client waits for what.
type Pace struct {
	// First is the longest pause after a first failure; it doubles with each
	// further one.
	First time.Duration
	// MostEager and MostCalm bound the pause while a caller waits for data and while none does.
	MostEager, MostCalm time.Duration
	// Elsewhere is how often in a row replicas may send the agent away at once, as where they are behind (SAFETY.md V4),
	// before that counts as a failure.
	Elsewhere int
	// Dial bounds connecting and, again, the TLS handshake.
	Dial time.Duration
	// Greeting bounds the time from dialling to the first snapshot.
	Greeting time.Duration
	// Quiet is how long nothing may be heard before the peer is asked whether
	// it is there; Answer is how long it has to say so. A dead peer is found
	// within their sum.
	Quiet, Answer time.Duration
	// Renew is how often the files of the token and of the trust bundle are read.
	Renew time.Duration
}

// DefaultPace returns what an agent in a pod uses.
func DefaultPace() Pace {
	return Pace{
		First: 100 * time.Millisecond, MostEager: 10 * time.Second, MostCalm: 30 * time.Second,
		Elsewhere: 3,
		Dial:      5 * time.Second, Greeting: 10 * time.Second,
		Quiet: 10 * time.Second, Answer: 5 * time.Second,
		Renew: 30 * time.Second,
	}
}

// attempts counts those in a row that failed, and those after which a replica sent the agent away.
type attempts struct{ failed, away int }

// pause returns how long to wait after an attempt that lasted for a time and ended with err.
func (a *attempts) pause(p Pace, err error, lasted time.Duration, eager bool) time.Duration {
	if lasted > p.Greeting { // it worked for a while
		*a = attempts{}
	}
	if sentAway(err) && a.away < p.Elsewhere {
		a.away++
		return 0
	}
	a.failed++
	return p.pause(a.failed-1, eager)
}

// pause returns how long to wait after so many failures in a row: exponential,
// with full jitter, so that agents that lost the same controller do not return
// in step (SAFETY.md D16).
func (p Pace) pause(failures int, eager bool) time.Duration {
	return rand.N(p.ceiling(failures, eager) + 1) //nolint:gosec // jitter is no secret
}

// ceiling returns the longest pause after so many failures in a row.
func (p Pace) ceiling(failures int, eager bool) time.Duration {
	most := p.MostCalm
	if eager {
		most = p.MostEager
	}
	ceiling := p.First
	for range failures {
		if ceiling >= most/2 {
			return most
		}
		ceiling *= 2
	}
	return min(ceiling, most)
}
