package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// Store is the part of a store that is read.
type Store interface {
	Get(ctx context.Context, key blob.Key) (io.ReadCloser, error)
	Below(ctx context.Context, workspace string, fence int64, prefix string) ([]blob.Info, error)
}

// Attempt identifies the attempt of a Run whose logs are read.
type Attempt struct {
	// Workspace is its UID.
	Workspace string
	Fence     int64
}

// List returns the names of the streams that are stored, as Read takes them, sorted: stdout, stderr and files as
// /logs/PATH. A path may have any bytes but zero: print it with %q. Beside log.ErrDamaged it has the names that could be read.
func List(ctx context.Context, s Store, a Attempt) ([]string, error) {
	chunks, err := s.Below(ctx, a.Workspace, a.Fence, log.Prefix)
	if err != nil {
		return nil, fmt.Errorf("cannot list the logs: %w", err)
	}
	var names []string
	var damaged error
	last := ""
	for _, one := range chunks {
		stream, _, err := log.ParseKey(one.Key.Name)
		if err != nil || stream == last {
			continue
		}
		head, _, err := fetch(ctx, s, one.Key)
		if errors.Is(err, log.ErrDamaged) {
			damaged = errors.Join(damaged, fmt.Errorf("cannot list the logs: %w", err))
			continue // the next chunk has the name too
		}
		if err != nil {
			return nil, fmt.Errorf("cannot list the logs: %w", err)
		}
		last = stream
		name, err := nameOf(stream, head)
		if err != nil {
			return nil, fmt.Errorf("cannot list the logs: chunk %s: %w", one.Key, err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, damaged
}

// nameOf returns the name by which people know a stream.
func nameOf(stream string, h log.Head) (string, error) {
	if h.File == "" {
		return stream, nil
	}
	name, err := log.UnescapeName(h.File)
	return "/logs/" + name, err
}

// Piece is a part of a stream: what is missing, then what is there.
type Piece struct {
	// Missing is the number of bytes that are missing before Content.
	Missing int64
	Content []byte
}

// Reader reads one stream. It remembers how far it is, so that what has come since is read by another call of Pieces.
type Reader struct {
	store    Store
	attempt  Attempt
	stream   string
	progress log.Progress
}

// NewReader returns a reader of a stream, by its name: stdout, stderr, or a file as /logs/PATH. A stream that does not
// exist is an empty one that has not ended: it may come yet.
func NewReader(s Store, a Attempt, name string) (*Reader, error) {
	stream, err := log.ParseStream(name)
	if err != nil {
		return nil, err
	}
	return &Reader{store: s, attempt: a, stream: stream}, nil
}

// Pieces returns what is stored and was not read yet, in order. It ends with the first error; what was read before
// counts as read.
func (r *Reader) Pieces(ctx context.Context) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		chunks, err := r.store.Below(ctx, r.attempt.Workspace, r.attempt.Fence, log.Prefix+r.stream+"-")
		for _, one := range chunks {
			var p *Piece
			if p, err = r.piece(ctx, one.Key); err != nil {
				break
			}
			if p != nil && !yield(*p, nil) {
				return
			}
		}
		if err != nil {
			yield(Piece{}, fmt.Errorf("cannot read the log: %w", err))
		}
	}
}

// piece returns the piece of a chunk; nil if it was read before, or is of another stream.
func (r *Reader) piece(ctx context.Context, key blob.Key) (*Piece, error) {
	stream, number, err := log.ParseKey(key.Name)
	if err != nil || stream != r.stream || number < r.progress.Next() {
		return nil, nil //nolint:nilerr,nilnil // another stream's
	}
	head, content, err := fetch(ctx, r.store, key)
	if err != nil {
		return nil, err
	}
	next, missing, known := r.progress.Add(number, head, len(content))
	if r.progress = next; known {
		return nil, nil //nolint:nilnil // it follows the end
	}
	return &Piece{missing, content}, nil
}

// Holes returns what is missing so far, by the numbers of chunks.
func (r *Reader) Holes() []log.Hole { return r.progress.Holes() }

// Ended reports whether the end of the stream was read. One that has not ended although its run has is cut off: its
// container was killed, or its store was not reached in time.
func (r *Reader) Ended() bool { return r.progress.Ended() }

// maxStored bounds what is read of a chunk, in bytes.
const maxStored = log.MaxChunk + 8<<10

// fetch reads a stored chunk.
func fetch(ctx context.Context, s Store, key blob.Key) (log.Head, []byte, error) {
	in, err := s.Get(ctx, key)
	if err != nil {
		return log.Head{}, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxStored))
	if err = errors.Join(err, in.Close()); err != nil {
		return log.Head{}, nil, err
	}
	head, content, err := log.Decode(text)
	if err != nil {
		return log.Head{}, nil, fmt.Errorf("chunk %s: %w", key, err)
	}
	return head, content, nil
}

// Read returns what is stored of a stream as a text for people, in which a line stands for each hole, and the holes. For
// large streams, and for those that go on, use a Reader.
func Read(ctx context.Context, s Store, a Attempt, name string) (io.Reader, []log.Hole, error) {
	r, err := NewReader(s, a, name)
	if err != nil {
		return nil, nil, err
	}
	var text strings.Builder
	for p, err := range r.Pieces(ctx) {
		if err != nil {
			return nil, r.Holes(), err
		}
		text.Write(p.Text(strings.HasSuffix(text.String(), "\n") || text.Len() == 0))
	}
	return strings.NewReader(text.String()), r.Holes(), nil
}

// Text returns a piece as people read it. Where something is missing, a line says so; fresh reports that what came
// before ends a line.
func (p Piece) Text(fresh bool) []byte {
	if p.Missing == 0 {
		return p.Content
	}
	note := fmt.Sprintf("[%d bytes of this log are missing here]\n", p.Missing)
	if !fresh {
		note = "\n" + note
	}
	return append([]byte(note), p.Content...)
}
