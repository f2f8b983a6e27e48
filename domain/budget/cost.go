package budget

import (
	"math"
	"time"
)

// Cost is a number of commits, and of bytes in the store, that writes take from a budget; or of requests, and of the
// bytes that are read and sent for them.
type Cost struct{ Commits, Bytes float64 }

func (c Cost) plus(d Cost) Cost { return Cost{c.Commits + d.Commits, c.Bytes + d.Bytes} }

func (c Cost) minus(d Cost) Cost { return Cost{c.Commits - d.Commits, c.Bytes - d.Bytes} }

func (c Cost) times(n float64) Cost { return Cost{c.Commits * n, c.Bytes * n} }

// atMost returns the lower of each.
func (c Cost) atMost(d Cost) Cost {
	return Cost{math.Min(c.Commits, d.Commits), math.Min(c.Bytes, d.Bytes)}
}

// atLeast returns the higher of each.
func (c Cost) atLeast(d Cost) Cost {
	return Cost{math.Max(c.Commits, d.Commits), math.Max(c.Bytes, d.Bytes)}
}

// covers reports whether nothing of d is more.
func (c Cost) covers(d Cost) bool {
	return c.Commits+rounding >= d.Commits && c.Bytes+rounding >= d.Bytes
}

// bucket has the rest of a budget at a time; below zero if more was written than was known before.
type bucket struct {
	left Cost
	at   time.Time
}

// until returns the bucket at a later time.
func (b bucket) until(l Limit, now time.Time) bucket {
	if passed := now.Sub(b.at); passed > 0 {
		b.left, b.at = b.left.plus(l.Rate.times(passed.Seconds())).atMost(l.Burst), now
	}
	return b
}

// wait returns how long it takes until the bucket has what is taken; zero if it has it. What is more than the whole
// burst is taken from a full bucket, and leaves a debt.
func (b bucket) wait(l Limit, c Cost) time.Duration {
	lacks := c.atMost(l.Burst).minus(b.left)
	return max(lasts(lacks.Commits, l.Rate.Commits), lasts(lacks.Bytes, l.Rate.Bytes))
}

// lasts returns how long a rate takes to bring what is lacking, at least the least that is worth waiting for.
func lasts(lacking, rate float64) time.Duration {
	switch {
	case lacking < rounding:
		return 0
	case rate <= 0:
		return longest
	}
	return time.Duration(math.Min(math.Ceil(lacking/rate*1000)*float64(time.Millisecond), float64(longest)))
}

// rounding is less of a commit, or of a byte, than counts.
const rounding = 1e-6

// longest is the longest wait that is reported.
const longest = time.Hour
