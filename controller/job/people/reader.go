package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// chunk is a stored chunk of stdout or stderr.
type chunk struct {
	blob.Info

	stream string
	number int64
}

// reader writes the chunks of outputs in the order in which they were stored, each output in the order of its bytes, and
// states what is missing.
type reader struct {
	store blob.Store
	out   io.Writer
	since time.Time

	fence   int64
	outputs map[string]*output
	// began reports that the answer has begun, broken that the last line has no end yet.
	began, broken bool
}

// output is how far an output was written.
type output struct {
	// number is that of the last chunk, position what follows it.
	number, position int64
	// began reports that a chunk was written: holes before the first one since a time are not stated.
	began bool
	// dropped is how many bytes were beyond the limit.
	dropped int64
}

// more writes what the store has of a hold and was not written yet. It reports whether there was any; fence 0 has nothing.
func (r *reader) more(ctx context.Context, workspace string, fence int64) (found bool, err error) {
	if fence == 0 {
		return false, nil
	}
	if r.fence != fence {
		if err := r.finish(); err != nil {
			return false, err
		}
		r.fence, r.outputs = fence, map[string]*output{"stdout": {}, "stderr": {}}
	}
	all, err := r.store.Below(ctx, workspace, fence, log.Prefix)
	if err != nil {
		return false, err
	}
	fresh := r.fresh(all)
	for _, c := range fresh {
		if err := r.write(ctx, c); err != nil {
			return false, err
		}
	}
	return len(fresh) > 0, nil
}

// fresh returns the chunks that follow those that were written. A chunk comes no earlier than the one before it, even if
// the clocks of the store are apart.
func (r *reader) fresh(all []blob.Info) []chunk {
	var found []chunk
	latest := map[string]time.Time{}
	for _, one := range all { // in order of their keys, and so of their numbers
		stream, number, err := log.ParseKey(one.Key.Name)
		o := r.outputs[stream]
		if err != nil || o == nil || number <= o.number {
			continue
		}
		if one.Stored.Before(latest[stream]) {
			one.Stored = latest[stream]
		}
		latest[stream] = one.Stored
		if one.Stored.Before(r.since) {
			continue
		}
		found = append(found, chunk{one, stream, number})
	}
	slices.SortStableFunc(found, func(a, b chunk) int { return a.Stored.Compare(b.Stored) })
	return found
}

// write writes a chunk, after what is missing before it.
func (r *reader) write(ctx context.Context, c chunk) error {
	stored, err := r.store.Get(ctx, c.Key)
	if errors.Is(err, blob.ErrNotFound) {
		return nil // it was deleted since it was listed, and is a hole
	}
	if err != nil {
		return err
	}
	defer stored.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(stored)
	if err != nil {
		return err
	}
	head, content, err := log.Decode(text)
	if err != nil {
		return fmt.Errorf("cannot read chunk %s: %w", c.Key, err)
	}
	o := r.outputs[c.stream]
	o.number = c.number
	if head.Dropped > 0 {
		o.dropped += int64(head.Dropped)
		return nil
	}
	if missing := head.Position - o.position; missing > 0 && (o.began || r.since.IsZero()) {
		if err := r.hole(c.stream, missing); err != nil {
			return err
		}
	}
	o.began, o.dropped = true, 0
	written, err := (&lines{r}).Write(content)
	o.position = head.Position + int64(written)
	return err
}

// finish states what is missing at the end of each output.
func (r *reader) finish() error {
	for _, stream := range slices.Sorted(maps.Keys(r.outputs)) {
		o := r.outputs[stream]
		if o.dropped > 0 {
			if err := r.hole(stream, o.dropped); err != nil {
				return err
			}
		}
		o.dropped = 0
	}
	return nil
}

// hole states that bytes are missing.
func (r *reader) hole(stream string, missing int64) error {
	start := ""
	if r.broken {
		start = "\n"
	}
	r.began, r.broken = true, false
	_, err := fmt.Fprintf(r.out, "%s[orcon: %d bytes of %s are missing here]\n", start, missing, stream)
	return err
}

// lines remembers whether the last line has ended.
type lines struct{ *reader }

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.began, l.broken = true, p[len(p)-1] != '\n'
	}
	return l.out.Write(p)
}
