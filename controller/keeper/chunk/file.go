package chunk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/redaction"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// Files carries the files below a folder, each as a stream of its own, while the template writes them. A file is read as
// it grows; one that becomes shorter, or is replaced, is read anew, behind what was read of it. What a file that was
// removed had and was not read is lost.
type Files struct {
	// Folder has the files. Links are not followed.
	Folder string
	// Scratch is where the carrier remembers how far it is.
	Scratch string
	// Fence is that of the hold.
	Fence int64
	Sink  Sink
	// Size is how much of a file a chunk has at most, in bytes: more than any form of a secret has.
	Size int64
	// Secrets are replaced before a chunk is stored.
	Secrets *redaction.Mounted
	// Last reports that no file grows any more.
	Last bool
}

// reached is how far a file was carried.
type reached struct {
	// Name may be any bytes.
	Name []byte
	// Number and Position are those of the next chunk.
	Number, Position int64
	// Inode and Offset are where the next byte is read. Begin is how the file begins: inodes are used again.
	Inode  uint64
	Offset int64
	Begin  []byte
	// Next is the content of a chunk that may have been written, as it was: the template may change the file.
	Next []byte
	// Ended reports that the last chunk was written.
	Ended bool
}

// cursors begins the names of the files of the scratch folder.
const cursors = "log-"

// Carry writes what is new of each file. It returns the names of the files that are left out, since there are too many.
// An error of one file does not hold back the others.
func (f *Files) Carry(ctx context.Context) (out []string, err error) {
	return f.each(func(at reached) error { return f.carry(ctx, at) })
}

// End marks the end of each file, when all is carried and no template runs.
func (f *Files) End(ctx context.Context) error {
	_, err := f.each(func(at reached) error {
		if !at.Ended {
			if err := f.Sink.Write(ctx, f.chunk(at, nil, true)); err != nil {
				return err
			}
		}
		at.Ended = true
		return f.save(at)
	})
	return err
}

// each calls use for each file that is there, or was: the first ones that were found.
func (f *Files) each(use func(reached) error) (out []string, err error) {
	known, err := f.known()
	if err != nil {
		return nil, fmt.Errorf("cannot carry log files away: %w", err)
	}
	found, err := f.found()
	if err != nil {
		return nil, fmt.Errorf("cannot list log files: %w", err)
	}
	for _, name := range found {
		switch _, taken := known[name]; {
		case taken:
		case len(known) == log.MaxFiles || log.CheckName(name) != nil:
			out = append(out, name)
		default:
			known[name] = reached{Name: []byte(name), Number: 1}
		}
	}
	for name, at := range known {
		if one := use(at); one != nil {
			err = errors.Join(err, fmt.Errorf("cannot carry log file %q away: %w", name, one))
		}
	}
	return out, err
}

// unblocked opens what is in a folder. A pipe that takes a folder's place does not block.
type unblocked struct{ *os.Root }

// Open implements fs.FS.
func (u unblocked) Open(name string) (fs.File, error) {
	return u.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// found returns the names of the files, sorted.
func (f *Files) found() ([]string, error) {
	root, err := os.OpenRoot(f.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the run has no such folder
	}
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it is only read
	var all []string
	err = fs.WalkDir(unblocked{root}, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && (gone(err) == nil || errors.Is(err, fs.ErrPermission)):
			return nil // removed or replaced meanwhile, or nothing for others
		case err == nil && entry.Type().IsRegular():
			all = append(all, name)
		}
		return err
	})
	slices.Sort(all)
	return all, err
}

// carry writes what is new of a file.
func (f *Files) carry(ctx context.Context, at reached) error {
	for ctx.Err() == nil && !at.Ended {
		if at.Next == nil {
			var err error
			if at, err = f.read(at); err != nil || len(at.Next) == 0 {
				return err
			}
			if err := f.save(at); err != nil {
				return err
			}
		}
		if err := f.Sink.Write(ctx, f.chunk(at, at.Next, false)); err != nil {
			return err
		}
		at.Number, at.Position, at.Next = at.Number+1, at.Position+int64(len(at.Next)), nil
		if err := f.save(at); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (f *Files) chunk(at reached, content []byte, last bool) Chunk {
	return Chunk{
		Fence: f.Fence, Stream: log.StreamOf(string(at.Name)), File: log.EscapeName(string(at.Name)), Number: at.Number, Position: at.Position,
		Content: content, Last: last,
	}
}

// read returns the file with its next content; without any if there is none.
func (f *Files) read(at reached) (reached, error) {
	root, err := os.OpenRoot(f.Folder)
	if err != nil {
		return at, gone(err)
	}
	defer root.Close() //nolint:errcheck // it is only read
	// A pipe that took the file's place must not block.
	file, err := root.OpenFile(string(at.Name), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return at, gone(err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return at, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && (stat.Ino != at.Inode || !same(file, at, info.Size())) {
		at.Inode, at.Offset, at.Begin = stat.Ino, 0, nil
	}
	content := make([]byte, min(f.Size, info.Size()-at.Offset))
	n, err := file.ReadAt(content, at.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return at, err
	}
	values, err := f.Secrets.Values()
	if err != nil {
		return at, err
	}
	next, read := values.Replace(content[:n], f.Last && at.Offset+int64(n) == info.Size())
	if room := beginning - len(at.Begin); room > 0 {
		at.Begin = append(slices.Clone(at.Begin), content[:min(read, room)]...)
	}
	at.Next, at.Offset = next, at.Offset+int64(read)
	return at, nil
}

// beginning is how many bytes tell whether a file is the one that was read before.
const beginning = 256

// same reports whether a file is as it was, as far as it was read.
func same(file io.ReaderAt, at reached, size int64) bool {
	begin := make([]byte, len(at.Begin))
	n, _ := file.ReadAt(begin, 0) // what cannot be read is not the same
	return size >= at.Offset && bytes.Equal(begin[:n], at.Begin)
}

// gone returns an error unless the file is no longer there, or became a link.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENXIO) ||
		strings.Contains(err.Error(), "escapes") {
		return nil
	}
	return err
}

// known returns the files that were carried before.
func (f *Files) known() (map[string]reached, error) {
	all := map[string]reached{}
	names, err := filepath.Glob(filepath.Join(f.Scratch, cursors+"*.json"))
	for _, name := range names {
		var at reached
		text, err := os.ReadFile(name) //nolint:gosec // of the keeper's own folder
		if err == nil {
			err = json.Unmarshal(text, &at)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", path.Base(name), err)
		}
		all[string(at.Name)] = at
	}
	return all, err
}

func (f *Files) save(at reached) error {
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	file := filepath.Join(f.Scratch, cursors+log.StreamOf(string(at.Name))+".json")
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
