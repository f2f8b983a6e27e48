package log

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// The limits of a run's logs.
const (
	// MaxChunk is how large a chunk may be, in bytes.
	MaxChunk = 1 << 20
	// MaxBytes is how much of one stream is stored by default, in bytes.
	MaxBytes = 64 << 20
	// MaxChunks is the number of chunks of one stream that are stored.
	MaxChunks = 10_000
)

// ErrConflict is wrapped if a chunk comes again with another content. The first one stays.
var ErrConflict = errors.New("another chunk has the number")

// Chunk is a piece of one stream.
type Chunk struct {
	// Number counts from 1 without gaps, also over chunks that were dropped.
	Number int64
	Digest string
	Size   int
	// Dropped is the number of bytes that the keeper dropped between the chunk before and this one.
	Dropped int64
}

// Account knows the chunks of one stream. The zero value knows none.
type Account struct {
	// Limit is the number of bytes that are stored; 0 means MaxBytes.
	Limit int64
	// chunks are sorted by number; those without a digest are not stored.
	chunks []Chunk
	bytes  int64
	// last is the number of the stream's last chunk; 0 while it goes on.
	last int64
}

// Add takes note of a chunk and reports whether its content is to be stored. A chunk that is known changes nothing.
// One beyond the limits is noted as a hole and acknowledged, so that a full store never holds up a run.
func (a Account) Add(c Chunk) (Account, bool, error) {
	switch {
	case c.Number < 1 || c.Size < 0 || c.Size > MaxChunk || c.Dropped < 0 || c.Digest == "":
		return a, false, fmt.Errorf("cannot store chunk %d of %d bytes: a chunk has a number from 1, a digest, and at most %d bytes",
			c.Number, c.Size, MaxChunk)
	case a.last != 0 && c.Number > a.last:
		return a, false, fmt.Errorf("cannot store chunk %d: the stream ended with %d", c.Number, a.last)
	}
	at, known := slices.BinarySearchFunc(a.chunks, c.Number, func(c Chunk, n int64) int { return cmp.Compare(c.Number, n) })
	if known {
		if old := a.chunks[at].Digest; old != "" && old != c.Digest {
			return a, false, fmt.Errorf("cannot store chunk %d: %w", c.Number, ErrConflict)
		}
		return a, false, nil
	}
	stored := len(a.chunks) < MaxChunks && a.bytes+int64(c.Size) <= cmp.Or(a.Limit, MaxBytes)
	if stored {
		a.bytes += int64(c.Size)
	} else {
		c.Digest, c.Dropped, c.Size = "", c.Dropped+int64(c.Size), 0
	}
	a.chunks = slices.Insert(slices.Clone(a.chunks), at, c)
	return a, stored, nil
}

// End notes the number of the last chunk. The highest number that any report names counts.
func (a Account) End(last int64) Account {
	a.last = max(a.last, last)
	if n := len(a.chunks); n > 0 {
		a.last = max(a.last, a.chunks[n-1].Number)
	}
	return a
}

// Bytes returns how much is stored.
func (a Account) Bytes() int64 { return a.bytes }

// Hole is a part of a stream that is not stored.
type Hole struct {
	// From and To are the numbers of the first and last missing chunk; To is From-1 for bytes that the keeper dropped
	// before chunk From.
	From, To int64
	// Bytes is how much is missing; 0 if that is not known.
	Bytes int64
}

// Holes returns what is missing, in order. A stream that goes on may still fill the holes whose size is not known.
func (a Account) Holes() []Hole {
	var holes []Hole
	next := int64(1)
	for _, c := range a.chunks {
		if c.Number > next {
			holes = append(holes, Hole{From: next, To: c.Number - 1})
		}
		next = c.Number + 1
		switch last := len(holes) - 1; {
		case c.Digest == "" && last >= 0 && holes[last].To == c.Number-1 && holes[last].Bytes > 0:
			holes[last].To, holes[last].Bytes = c.Number, holes[last].Bytes+c.Dropped
		case c.Digest == "":
			holes = append(holes, Hole{c.Number, c.Number, c.Dropped})
		case c.Dropped > 0:
			holes = append(holes, Hole{c.Number, c.Number - 1, c.Dropped})
		}
	}
	if next <= a.last {
		holes = append(holes, Hole{From: next, To: a.last})
	}
	return holes
}

// Complete reports whether the stream has ended and every chunk is stored.
func (a Account) Complete() bool { return a.last != 0 && len(a.Holes()) == 0 }
