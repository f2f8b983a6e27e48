package bindings

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// Pair is content that is replaced often and must survive a process that is killed: two files that are overwritten in
// turn; the newer whole one counts. It is many times faster than a rename, which makes ext4 wait for the disk. The
// content is for its writer alone; a link in a file's place is an error.
type Pair struct {
	path   string
	number uint64 // of the newest whole file; 0 before any was read or written
	next   int    // the file to overwrite: not the newest whole one
}

// NewPair returns the pair at path with ".0" and ".1"; its folder must exist by
// the time of the first write.
func NewPair(path string) *Pair { return &Pair{path: path} }

// header precedes the content: its number in the order of writing, its length and its checksum.
type header struct {
	Number   uint64
	Length   uint32
	Checksum uint32
}

// Replace makes content what Read returns. On an error what was there stays.
func (p *Pair) Replace(content []byte) error {
	if p.number == 0 {
		_, _ = p.Read() // to know which one to keep
	}
	if err := store(p.file(p.next), p.number+1, content); err != nil {
		return fmt.Errorf("cannot write %s: %w", p.file(p.next), err)
	}
	p.number++
	p.next = 1 - p.next
	return nil
}

// Read returns the content, nil if there is none. A file that is not whole is
// an error only if the other is not whole either.
func (p *Pair) Read() ([]byte, error) {
	var (
		content []byte
		failed  []error
	)
	p.number = 0
	for i := range 2 {
		h, c, err := load(p.file(i))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			failed = append(failed, fmt.Errorf("cannot read %s: %w", p.file(i), err))
		case h.Number > p.number:
			content, p.number, p.next = c, h.Number, 1-i
		}
	}
	if p.number == 0 {
		return nil, errors.Join(failed...)
	}
	return content, nil
}

// Exists tells whether there is content.
func (p *Pair) Exists() bool {
	content, err := p.Read()
	return err == nil && content != nil
}

func (p *Pair) file(i int) string { return p.path + "." + strconv.Itoa(i) }

// errTorn is for a file whose writer was killed, or whose disk lost it.
var errTorn = errors.New("it is not whole")

func load(path string) (header, []byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0) //nolint:gosec // the caller's own path
	if err != nil {
		return header{}, nil, err
	}
	defer func() { _ = f.Close() }()
	var h header
	if err := binary.Read(f, binary.LittleEndian, &h); err != nil {
		return header{}, nil, errTorn
	}
	info, err := f.Stat()
	if err != nil {
		return header{}, nil, err
	}
	if int64(h.Length) > info.Size() {
		return header{}, nil, errTorn
	}
	content := make([]byte, h.Length)
	if _, err := io.ReadFull(f, content); err != nil || checksum(h.Number, content) != h.Checksum {
		return header{}, nil, errTorn
	}
	return h, content, nil
}

// store overwrites; it does not truncate first, which ext4 would wait for.
func store(path string, number uint64, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // the caller's own path
	if err != nil {
		return err
	}
	h := header{Number: number, Length: uint32(len(content)), Checksum: checksum(number, content)} //nolint:gosec // far below 4 GiB
	if err = binary.Write(f, binary.LittleEndian, h); err == nil {
		_, err = f.Write(content)
	}
	return errors.Join(err, f.Close())
}

func checksum(number uint64, content []byte) uint32 {
	sum := crc32.NewIEEE()
	_, _ = sum.Write(binary.LittleEndian.AppendUint64(nil, number))
	_, _ = sum.Write(content)
	return sum.Sum32()
}
