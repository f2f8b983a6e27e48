// Package piece holds how a snapshot is sent in pieces: first the contents of databags that the other end of the stream
// lacks, then the snapshot, which refers to them. A content counts once that snapshot has come (TRUST.md U2).
//
// What must not come in: how pieces travel, and where contents are kept.
package piece

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Sender knows which contents the other end of a stream has. The zero Sender begins a stream.
type Sender struct{ has map[databag.Ref]bool }

// Next returns the references whose contents are sent before a snapshot with these, each once and in order. The other
// end keeps the contents of one snapshot until the next.
func (s *Sender) Next(refs []databag.Ref) []databag.Ref {
	var missing []databag.Ref
	now := make(map[databag.Ref]bool, len(refs))
	for _, ref := range refs {
		if !ref.Empty() && !now[ref] && !s.has[ref] {
			missing = append(missing, ref)
		}
		now[ref] = true
	}
	s.has = now
	return missing
}

// Receiver collects contents until the snapshot that refers to them has come. The zero Receiver begins a stream. C is a
// content, or where it is kept.
type Receiver[C any] struct{ kept, pending map[databag.Ref]C }

// Receive adds a content that the next snapshot may refer to.
func (r *Receiver[C]) Receive(ref databag.Ref, content C) {
	if r.pending == nil {
		r.pending = map[databag.Ref]C{}
	}
	r.pending[ref] = content
}

// Complete returns the contents that a snapshot refers to, and drops all others. It fails if one has not come.
func (r *Receiver[C]) Complete(refs []databag.Ref) (map[databag.Ref]C, error) {
	all := make(map[databag.Ref]C, len(refs))
	for _, ref := range refs {
		content, there := r.pending[ref]
		if !there {
			content, there = r.kept[ref]
		}
		switch {
		case there:
			all[ref] = content
		case !ref.Empty():
			return nil, fmt.Errorf("cannot use the snapshot: the databag with version %s has not come: connect again", ref.Version)
		}
	}
	r.kept, r.pending = all, nil
	return all, nil
}
