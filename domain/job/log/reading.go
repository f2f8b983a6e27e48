package log

import "slices"

// Reading follows the chunks of a stream as they are read, in order of their numbers, and states what is missing. The
// zero value begins with chunk 1.
type Reading struct {
	next  int64
	end   int64
	holes []Hole
	whole bool
}

// Next returns the number of the chunk that is due.
func (r Reading) Next() int64 { return max(r.next, 1) }

// Holes returns what is missing so far, in order.
func (r Reading) Holes() []Hole { return slices.Clone(r.holes) }

// Ended reports whether the last chunk was read: nothing follows.
func (r Reading) Ended() bool { return r.whole }

// Complete reports whether the stream has ended, and nothing of it is missing.
func (r Reading) Complete() bool { return r.whole && len(r.holes) == 0 }

// Add returns the reading after a chunk, and the number of bytes that are missing before its content. A chunk that was
// read changes nothing; known reports that.
func (r Reading) Add(number int64, h Head, size int) (next Reading, missing int64, known bool) {
	due := r.Next()
	if number < due || r.whole {
		return r, 0, true
	}
	missing = max(h.Position-r.end, 0)
	switch {
	case number > due:
		r.holes = append(r.Holes(), Hole{due, number - 1, missing})
	case missing > 0:
		r.holes = append(r.Holes(), Hole{number, number - 1, missing})
	}
	if h.Dropped > 0 {
		r.holes = append(r.Holes(), Hole{number, number, int64(h.Dropped)})
		missing += int64(h.Dropped)
	}
	r.next, r.end, r.whole = number+1, max(r.end, h.Position)+int64(size+h.Dropped), h.Last
	return r, missing, false
}
