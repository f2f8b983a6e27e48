package chunk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// Chunk is a part of an output.
type Chunk struct {
	// Fence is that of the hold.
	Fence int64
	// Stream is stdout or stderr, or that of a file.
	Stream string
	// File is the escaped name of the file; "" for an output.
	File string
	// Number begins with 1 and rises by one.
	Number int64
	// Position is that of the first byte in the output.
	Position int64
	// Missing is the number of lost bytes before Position.
	Missing int64
	// Content may be empty, where the end of an output is missing.
	Content []byte
	// Last reports that nothing follows.
	Last bool
}

// Sink stores chunks. The same chunk may be written again, in all its parts.
type Sink interface {
	Write(ctx context.Context, c Chunk) error
}

// Carrier carries one output.
type Carrier struct {
	// Output is the folder of the segments, Stream the name of the output.
	Output, Stream string
	// Scratch is where the carrier remembers how far it is.
	Scratch string
	// Fence is that of the hold.
	Fence int64
	Sink  Sink
	// Size is that of the largest chunk, in bytes.
	Size int64
}

// cursor is how far a carrier is. A chunk is stored here before it is written, so that it is written again as it was,
// though its segment may have grown.
type cursor struct {
	// Number and Position are those of the next chunk.
	Number, Position int64
	// Next is the chunk that may have been written; nil for none.
	Next *extent
	// Ended reports that the last chunk was written.
	Ended bool
}

// extent is where the content of a chunk is.
type extent struct{ Position, Length, Missing int64 }

// Carry writes the next chunk. It reports whether there was one.
func (c *Carrier) Carry(ctx context.Context) (carried bool, err error) {
	carried, err = c.carry(ctx)
	if err != nil {
		return false, fmt.Errorf("cannot carry %s away: %w", c.Stream, err)
	}
	return carried, nil
}

func (c *Carrier) carry(ctx context.Context) (bool, error) {
	at, err := c.load()
	if err != nil {
		return false, err
	}
	segments, err := exchange.Segments(c.Output, c.Stream)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // nothing was started yet
	}
	if err != nil {
		return false, err
	}
	if at.Next == nil {
		if at.Next = c.next(at.Position, segments); at.Next == nil {
			return false, sweep(segments, at.Position)
		}
		if err := c.save(at); err != nil {
			return false, err
		}
	}
	content, err := read(segments, *at.Next)
	if err != nil {
		return false, err
	}
	err = c.Sink.Write(ctx, Chunk{
		Fence: c.Fence, Stream: c.Stream, Number: at.Number, Position: at.Next.Position, Missing: at.Next.Missing, Content: content,
	})
	if err != nil {
		return false, err
	}
	at = cursor{Number: at.Number + 1, Position: at.Next.Position + at.Next.Length}
	return true, errors.Join(c.save(at), sweep(segments, at.Position))
}

// End marks the end of an output that is carried to its end and grows no more. It may be called again.
func (c *Carrier) End(ctx context.Context) error {
	at, err := c.load()
	if err == nil && !at.Ended {
		last := Chunk{Fence: c.Fence, Stream: c.Stream, Number: at.Number, Position: at.Position, Last: true}
		err = c.Sink.Write(ctx, last)
	}
	if err == nil {
		at.Ended = true
		err = c.save(at)
	}
	if err != nil {
		return fmt.Errorf("cannot end %s: %w", c.Stream, err)
	}
	return nil
}

// next returns what follows a position; nil for nothing.
func (c *Carrier) next(position int64, segments []exchange.Segment) *extent {
	for _, one := range segments {
		if one.End() <= position {
			continue
		}
		from := max(position, one.Position)
		return &extent{Position: from, Length: min(c.Size, one.End()-from), Missing: from - position}
	}
	return nil
}

// read returns the content of an extent.
func read(segments []exchange.Segment, e extent) ([]byte, error) {
	for _, one := range segments {
		if e.Position < one.Position || e.Position+e.Length > one.End() {
			continue
		}
		return one.Read(e.Position-one.Position, e.Length)
	}
	return nil, fmt.Errorf("no segment has its bytes from %d to %d", e.Position, e.Position+e.Length)
}

// sweep removes segments that are carried. The last one may still grow.
func sweep(segments []exchange.Segment, position int64) error {
	for i, one := range segments {
		if i == len(segments)-1 || one.End() > position {
			return nil
		}
		if err := one.Remove(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (c *Carrier) file() string { return filepath.Join(c.Scratch, "output-"+c.Stream+".json") }

func (c *Carrier) load() (cursor, error) {
	at := cursor{Number: 1}
	text, err := os.ReadFile(c.file())
	if errors.Is(err, fs.ErrNotExist) {
		return at, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	return at, err
}

func (c *Carrier) save(at cursor) error {
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.file()+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(c.file()+".new", c.file())
}
