package log

import "slices"

// Progress follows the chunks of a stream as they are read, in order of their numbers, and states what is missing. The
// zero value begins with chunk 1.
type Progress struct {
	next  int64
	end   int64
	holes []Hole
	whole bool
}

// Next returns the number of the chunk that is due.
func (p Progress) Next() int64 { return max(p.next, 1) }

// Holes returns what is missing so far, in order.
func (p Progress) Holes() []Hole { return slices.Clone(p.holes) }

// Ended reports whether the last chunk was read: nothing follows.
func (p Progress) Ended() bool { return p.whole }

// Complete reports whether the stream has ended, and nothing of it is missing.
func (p Progress) Complete() bool { return p.whole && len(p.holes) == 0 }

// Add returns the progress after a chunk, and the number of bytes that are missing before its content. A chunk that was
// read changes nothing; known reports that.
func (p Progress) Add(number int64, h Head, size int) (next Progress, missing int64, known bool) {
	due := p.Next()
	if number < due || p.whole {
		return p, 0, true
	}
	missing = max(h.Position-p.end, 0)
	switch {
	case number > due:
		p.holes = append(p.Holes(), Hole{due, number - 1, missing})
	case missing > 0:
		p.holes = append(p.Holes(), Hole{number, number - 1, missing})
	}
	if h.Dropped > 0 {
		p.holes = append(p.Holes(), Hole{number, number, int64(h.Dropped)})
		missing += int64(h.Dropped)
	}
	p.next, p.end, p.whole = number+1, max(p.end, h.Position)+int64(size+h.Dropped), h.Last
	return p, missing, false
}
