package certificate

import (
	"errors"
	"fmt"
	"time"
)

// ErrPeriods says that lifetimes and delays leave no room for a rotation.
var ErrPeriods = errors.New("periods do not fit")

// Periods are the lifetimes and delays of a self-managed authority. Every
// replica of every binary has to use the same.
type Periods struct {
	// Authority is how long an authority is valid. Its successor is announced
	// when a third of it is left.
	Authority time.Duration
	// Leaf is how long a leaf is valid. Each replica replaces its own when a
	// third of it is left.
	Leaf time.Duration
	// Propagation is how long a published bundle may take to reach those who
	// use it. A kubelet refreshes a mounted ConfigMap within about 90 s, and
	// an admission under way (at most 30 s) trusts what it began with.
	Propagation time.Duration
	// Skew is how far clocks may be apart.
	Skew time.Duration
}

// DefaultPeriods returns an authority for a year, leaves for a day, ten
// minutes of propagation and five of skew.
func DefaultPeriods() Periods {
	return Periods{
		Authority:   365 * 24 * time.Hour,
		Leaf:        24 * time.Hour,
		Propagation: 10 * time.Minute,
		Skew:        5 * time.Minute,
	}
}

// Validate returns ErrPeriods unless a leaf fits into the last third of an authority's life, in which its successor
// is announced, and propagation and skew into the last sixth, in which no place is waited for any more.
func (p Periods) Validate() error {
	if p.Leaf <= 0 || p.Propagation < 0 || p.Skew < 0 {
		return fmt.Errorf("%w: leaf %s, propagation %s, skew %s", ErrPeriods, p.Leaf, p.Propagation, p.Skew)
	}
	if need := max(3*p.Leaf, 6*(p.Propagation+p.Skew)); p.Authority < need {
		return fmt.Errorf("%w: authority %s is shorter than %s", ErrPeriods, p.Authority, need)
	}
	return nil
}

// due is when the successor of an authority is announced.
func (p Periods) due(r *Root) time.Time {
	return r.Certificate.NotAfter.Add(-p.Authority / 3)
}

// deadline is when a place that refuses its bundle is no longer waited for.
func (p Periods) deadline(r *Root) time.Time {
	return r.Certificate.NotAfter.Add(-p.Authority / 6)
}
