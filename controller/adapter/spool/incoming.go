package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Incoming is a content that comes in parts. The zero Incoming has none yet.
type Incoming struct {
	file *os.File
	hash hash.Hash
}

// Receive adds a part. With a version, which only the last part has, it returns the content, whose hash that must be.
// What comes in one part is kept as Keep does; the parts of others go to a file.
func (s *Spool) Receive(in *Incoming, text []byte, version string) (*Content, error) {
	if in.file == nil && version != "" {
		bag, err := databag.Decode(string(text))
		if err != nil {
			return nil, err
		}
		return s.Keep(databag.Ref{Version: version}, bag)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := in.add(s, text); err != nil || version == "" {
		return nil, err
	}
	defer in.Discard()
	return in.keep(s, databag.Ref{Version: version})
}

// Discard removes what has come.
func (in *Incoming) Discard() {
	if in.file != nil {
		_ = in.file.Close()
		_ = os.Remove(in.file.Name()) // it has another name if it is kept
	}
	*in = Incoming{}
}

// add writes a part to the file.
func (in *Incoming) add(s *Spool, text []byte) (err error) {
	if in.file == nil {
		if err := os.MkdirAll(s.folder, 0o700); err != nil {
			return fmt.Errorf("cannot keep a databag: %w", err)
		}
		if in.file, err = os.CreateTemp(s.folder, "incoming-"); err != nil {
			return fmt.Errorf("cannot keep a databag: %w", err)
		}
		in.hash = sha256.New()
		s.last.ref, s.last.bag = databag.Ref{}, nil // no other is in memory meanwhile
	}
	_, _ = in.hash.Write(text) // never fails
	if _, err := in.file.Write(text); err != nil {
		return fmt.Errorf("cannot keep a databag: %w", err)
	}
	return nil
}

// keep keeps the content that has come, if its hash is that of the reference.
func (in *Incoming) keep(s *Spool, ref databag.Ref) (*Content, error) {
	kept := s.contents[ref].Value()
	if kept != nil && in.version() == ref.Version {
		return kept, nil
	}
	if err := in.move(s, ref); err != nil {
		return nil, err
	}
	return s.hold(&Content{spool: s, ref: ref}), nil
}

// move gives the file the name of a content, if it has that.
func (in *Incoming) move(s *Spool, ref databag.Ref) error {
	if version := in.version(); version != ref.Version {
		return fmt.Errorf("cannot keep a databag: its version is %s, not %q", version, ref.Version)
	}
	if err := os.Rename(in.file.Name(), s.path(ref)); err != nil {
		return fmt.Errorf("cannot keep a databag: %w", err)
	}
	return nil
}

// version returns the version of the parts so far.
func (in *Incoming) version() string { return hex.EncodeToString(in.hash.Sum(nil)) }
