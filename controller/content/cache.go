package content

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const (
	// MaxCached is how large all that a cache keeps may be, in bytes: 512 MiB (TRUST.md U7).
	MaxCached = 512 << 20
	// next begins the names of files that are being written.
	next = "next-"
)

// Cache is a folder that keeps content by its pinned reference and by the credentials that it was
// fetched with, so that it is served only to those who could fetch it (TRUST.md R3). Each file is named
// for both and for its own checksum, so that one that was damaged is not used. What was used longest ago
// goes when all is larger than 512 MiB. Processes that may write to the folder are trusted.
type Cache struct {
	// Folder is where the files are; "" keeps nothing.
	Folder string
	// limit takes the place of MaxCached in tests; 0 is MaxCached.
	limit int64
}

// Sweep removes what an earlier process was writing when it died. No other process may be writing.
func (c Cache) Sweep() error {
	left, err := filepath.Glob(filepath.Join(c.Folder, next+"*"))
	for _, file := range left {
		err = errors.Join(err, os.Remove(file))
	}
	if err != nil {
		return fmt.Errorf("cannot sweep the cache: %w", err)
	}
	return nil
}

// get returns what is kept of a source.
func (c Cache) get(s Source) (bundle.Tree, bool) {
	kept, found := c.open(s)
	if !found {
		return bundle.Tree{}, false
	}
	defer kept.file.Close() //nolint:errcheck // it is only read
	var tree bundle.Tree
	if err := archive.Untar(kept.file, tree.Add); err != nil {
		return bundle.Tree{}, false
	}
	return tree, true
}

// open returns the archive that is kept of a source. It stays readable when it leaves the cache.
func (c Cache) open(s Source) (*packed, bool) {
	if c.Folder == "" {
		return nil, false
	}
	names, err := filepath.Glob(filepath.Join(c.Folder, key(s)+"-*.tar"))
	if err != nil {
		return nil, false
	}
	for _, name := range names {
		file, err := os.Open(name) //nolint:gosec // its name is a digest
		if err != nil {
			continue
		}
		sum := sha256.New()
		size, err := io.Copy(sum, file)
		if err == nil && filepath.Base(name) == named(s, sum) {
			now := time.Now()
			_ = os.Chtimes(name, now, now) // it only leaves the cache earlier
			_, err = file.Seek(0, io.SeekStart)
			return &packed{file, sum, size}, err == nil
		}
		_ = file.Close()
	}
	return nil, false
}

// put keeps content.
func (c Cache) put(s Source, tree bundle.Tree) error {
	if c.Folder == "" {
		return nil
	}
	file, err := c.create()
	if err != nil {
		return err
	}
	defer file.file.Close() //nolint:errcheck // keep has written it
	if err := archive.Pack(file, &tree); err != nil {
		file.discard()
		return err
	}
	return c.keep(s, file)
}

// packed is content as an archive in a file.
type packed struct {
	file *os.File
	sum  hash.Hash
	size int64
}

// create returns a new file. Its name must be kept or discarded.
func (c Cache) create() (*packed, error) {
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the cache: %w", err)
	}
	file, err := os.CreateTemp(c.Folder, next)
	if err != nil {
		return nil, fmt.Errorf("cannot write to the cache: %w", err)
	}
	return &packed{file: file, sum: sha256.New()}, nil
}

// Write implements io.Writer.
func (p *packed) Write(part []byte) (int, error) {
	n, err := p.file.Write(part)
	p.size += int64(n)
	p.sum.Write(part[:n])
	return n, err
}

// discard removes the name of the file, which stays readable until it is closed.
func (p *packed) discard() { _ = os.Remove(p.file.Name()) } // Sweep removes what is left

// keep makes a file the archive of a source; a reader sees all of it or nothing. Then it removes what
// was used longest ago.
func (c Cache) keep(s Source, p *packed) error {
	name := named(s, p.sum)
	if err := os.Rename(p.file.Name(), filepath.Join(c.Folder, name)); err != nil {
		p.discard()
		return fmt.Errorf("cannot write to the cache: %w", err)
	}
	return c.evict(name)
}

// evict removes archives, that used longest ago first, until the rest fits into the cache.
// The last one put stays if it is not larger by itself.
func (c Cache) evict(last string) error {
	entries, err := os.ReadDir(c.Folder)
	if err != nil {
		return fmt.Errorf("cannot read the cache: %w", err)
	}
	var kept []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".tar") {
			kept = append(kept, info)
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int {
		if (a.Name() == last) != (b.Name() == last) {
			return map[bool]int{true: -1, false: 1}[a.Name() == last]
		}
		return b.ModTime().Compare(a.ModTime())
	})
	left := c.limit
	if left == 0 {
		left = MaxCached
	}
	for _, info := range kept {
		if left -= info.Size(); left < 0 {
			if err := os.Remove(filepath.Join(c.Folder, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cannot shrink the cache: %w", err)
			}
		}
	}
	return nil
}

// key identifies a source: what is fetched, and with which credentials.
func key(s Source) string {
	all := sha256.New()
	c := s.Credentials
	for _, part := range []string{s.String(), c.Username, c.Password, c.Token, c.PrivateKey, c.KnownHosts, c.CA} {
		fmt.Fprintf(all, "%d %s", len(part), part)
	}
	return fmt.Sprintf("%x", all.Sum(nil))
}

// named returns the name of a source's archive that has a checksum.
func named(s Source, sum hash.Hash) string { return fmt.Sprintf("%s-%x.tar", key(s), sum.Sum(nil)) }
