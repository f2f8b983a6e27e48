package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Stream writes an output as segments, whose names hold the position of their first byte: a gap between two segments
// is a hole. It never fails, so that a full volume does not block the process.
type Stream struct {
	// Folder is where segments are, Name begins their names.
	Folder, Name string
	// Segment is the size of a segment, Limit of all segments that are left, in bytes.
	Segment, Limit int64

	file     *os.File
	position int64
	written  int64
}

// segmentDigits is the number of digits of a position.
const segmentDigits = 19

// Write implements io.Writer. It reports all bytes as written; those that are not leave a hole.
func (s *Stream) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(int64(len(rest)), s.Segment-s.written)
		if s.file == nil || n <= 0 {
			n = min(int64(len(rest)), s.Segment)
			if !s.open() {
				s.position += n
				rest = rest[n:]
				continue
			}
		}
		done, err := s.file.Write(rest[:n])
		s.written += int64(done)
		if err != nil {
			s.fail()
		}
		s.position += n
		rest = rest[n:]
	}
	return len(p), nil
}

// open begins a segment at the position. It reports whether there is room.
func (s *Stream) open() bool {
	s.end()
	segments, err := Segments(s.Folder, s.Name)
	if err != nil {
		return false
	}
	var size int64
	for _, one := range segments {
		size += one.Size
	}
	if size+s.Segment > s.Limit {
		return false
	}
	name := fmt.Sprintf("%s.%0*d", s.Name, segmentDigits, s.position)
	file, err := os.OpenFile(filepath.Join(s.Folder, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600) //nolint:gosec // a position
	if err != nil {
		return false
	}
	s.file, s.written = file, 0
	return true
}

// fail ends a segment that takes no more. An empty one is removed, so that a full volume is not filled with names.
func (s *Stream) fail() {
	if s.written == 0 {
		_ = os.Remove(s.file.Name()) // it is empty, and the next one has another name
	}
	s.end()
}

// end closes the segment.
func (s *Stream) end() {
	if s.file != nil {
		_ = s.file.Close() // what is not written is a hole already
	}
	s.file = nil
}

// Close ends the stream. If its last bytes are a hole, an empty segment marks where it ends.
func (s *Stream) Close() error {
	segments, err := Segments(s.Folder, s.Name)
	if last := len(segments) - 1; err == nil && s.position > 0 && (last < 0 || segments[last].End() < s.position) {
		s.Limit = math.MaxInt64
		s.open()
	}
	s.end()
	return err
}

// Segment is a part of an output.
type Segment struct {
	// Path is its file.
	Path string
	// Position is where it begins in the output.
	Position int64
	Size     int64
}

// End returns the position behind a segment.
func (s Segment) End() int64 { return s.Position + s.Size }

// Segments returns the segments of an output in order, which is that of their names. The last one may still grow. Only
// regular files count.
func Segments(folder, name string) ([]Segment, error) {
	root, err := within(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot list the output: %w", err)
	}
	defer root.Close() //nolint:errcheck // it is only read
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("cannot list the output: %w", err)
	}
	var all []Segment
	for _, e := range entries {
		text, found := strings.CutPrefix(e.Name(), name+".")
		position, err := strconv.ParseInt(text, 10, 64)
		if !found || err != nil {
			continue
		}
		info, err := root.Lstat(e.Name())
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("cannot list the output: %w", err)
		case info.Mode().IsRegular():
			all = append(all, Segment{Path: filepath.Join(folder, e.Name()), Position: position, Size: info.Size()})
		}
	}
	return all, nil
}
