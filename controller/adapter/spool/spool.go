// Package spool keeps contents of databags for an agent: the first in memory, and what is over a limit in files, so that
// the agent's memory does not grow with the bags of its neighbours (TRUST.md U2).
//
// A file's name is the version of its content, which is the hash of its bytes: a torn file is found when it is read. A
// content is kept as long as the program refers to it, and then its file goes.
//
// What must not come in: what the contents are for, and how they travel.
package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"weak"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// errTorn reports that a file does not have the content of its name.
var errTorn = errors.New("it is not whole")

// Spool keeps contents. Methods may be called at any time.
type Spool struct {
	folder string
	// room is how many bytes of contents may be in memory yet.
	room int
	// lost is called with the reason if a content that was kept cannot be read. It must not return.
	lost func(error)

	mu       sync.Mutex
	contents map[databag.Ref]weak.Pointer[Content]
	// last is the content that was read from a file last.
	last struct {
		ref databag.Ref
		bag map[string]string
	}
}

// Content is a content that a spool keeps.
type Content struct {
	spool *Spool
	ref   databag.Ref
	// bag is nil if the content is in a file alone.
	bag map[string]string
	// stored is set if it is in a file too. The spool's mu guards it.
	stored bool
}

// New returns a spool that keeps up to room bytes in memory and the rest in a folder, which it makes when it needs it.
func New(folder string, room int, lost func(error)) *Spool {
	return &Spool{folder: folder, room: room, lost: lost, contents: map[databag.Ref]weak.Pointer[Content]{}}
}

// Keep keeps the content of a reference for as long as the program refers to what it returns.
func (s *Spool) Keep(ref databag.Ref, bag map[string]string) (*Content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.contents[ref].Value(); kept != nil {
		return kept, nil
	}
	size := databag.Size(bag)
	if size <= s.room {
		s.room -= size
		return s.hold(&Content{spool: s, ref: ref, bag: bag}), nil
	}
	var in Incoming
	defer in.Discard()
	if err := in.add(s, databag.Encode(bag)); err != nil {
		return nil, err
	}
	return in.keep(s, ref)
}

// Store writes a content to a file too, so that it outlives the process.
func (s *Spool) Store(c *Content) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.InFile() || c.stored {
		return nil
	}
	var in Incoming
	defer in.Discard()
	if err := in.add(s, databag.Encode(c.bag)); err != nil {
		return err
	}
	if err := in.move(s, c.ref); err != nil {
		return err
	}
	c.stored = true
	return nil
}

// Recall returns a content that a process before this one has kept in a file, if that is whole.
func (s *Spool) Recall(ref databag.Ref) (*Content, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.contents[ref].Value(); kept != nil {
		return kept, true
	}
	if _, err := s.read(ref); err != nil {
		return nil, false
	}
	return s.hold(&Content{spool: s, ref: ref}), true
}

// Clean removes what processes before this one have left and nothing refers to.
func (s *Spool) Clean() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir(s.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if s.contents[databag.Ref{Version: e.Name()}].Value() == nil {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.folder, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("cannot clean the spool: %w", err)
	}
	return nil
}

// Bag returns the content, which must not be changed.
func (c *Content) Bag() map[string]string {
	if !c.InFile() {
		return c.bag
	}
	c.spool.mu.Lock()
	defer c.spool.mu.Unlock()
	if c.spool.last.ref != c.ref {
		if c.spool.last.bag != nil { // one is in memory at a time, also while other programs use the processors
			c.spool.last.bag = nil
			runtime.GC()
		}
		bag, err := c.spool.read(c.ref)
		if err != nil {
			c.spool.lost(fmt.Errorf("cannot read a databag: %w", err))
		}
		c.spool.last.ref, c.spool.last.bag = c.ref, bag
	}
	return c.spool.last.bag
}

// InFile reports whether the content is in a file alone, which outlives the process.
func (c *Content) InFile() bool { return c.bag == nil }

// hold has a content released when nothing refers to it any more.
func (s *Spool) hold(c *Content) *Content {
	s.contents[c.ref] = weak.Make(c)
	runtime.AddCleanup(c, s.release, released{c.ref, databag.Size(c.bag)})
	return c
}

// released is a content to which nothing refers any more.
type released struct {
	ref databag.Ref
	// size is how many bytes it had in memory.
	size int
}

// release makes room and removes the file, if there is one, unless the content is kept anew.
func (s *Spool) release(r released) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room += r.size
	kept := s.contents[r.ref].Value()
	if kept == nil {
		delete(s.contents, r.ref)
	}
	if kept == nil || !kept.InFile() && !kept.stored {
		_ = os.Remove(s.path(r.ref)) // or else when the next process starts
	}
}

func (s *Spool) path(ref databag.Ref) string { return filepath.Join(s.folder, ref.Version) }

// read returns the content of a file, unless that is torn.
func (s *Spool) read(ref databag.Ref) (map[string]string, error) {
	f, err := os.OpenFile(s.path(ref), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	text.Grow(int(min(info.Size(), databag.MaxEncoded)))
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(&text, hash), f); err != nil {
		return nil, err
	}
	if hex.EncodeToString(hash.Sum(nil)) != ref.Version {
		return nil, fmt.Errorf("%s: %w", s.path(ref), errTorn)
	}
	return databag.Decode(text.String())
}
