package log

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Head is the first line of a stored chunk, before its content.
type Head struct {
	// Position is that of the first byte in the stream; Missing is how many bytes before it are lost.
	Position int64 `json:"position"`
	Missing  int64 `json:"missing"`
	// Dropped is the number of bytes of the chunk that were not stored, since the stream has reached its limit.
	Dropped int `json:"dropped,omitempty"`
	// File is the name of the file below /logs as EscapeName writes it; "" for an output.
	File string `json:"file,omitempty"`
	// Last reports that the stream ends with the chunk.
	Last bool `json:"last,omitempty"`
}

// maxHead is how long the first line of a chunk may be, in bytes.
const maxHead = 4 << 10

// Check returns what is wrong with the head of a chunk of a stream.
func (h Head) Check(stream string) error {
	if h.Position < 0 || h.Missing < 0 || h.Dropped < 0 || h.Missing > h.Position {
		return fmt.Errorf("cannot store a chunk at byte %d with %d lost bytes before it and %d dropped ones: no number is negative, "+
			"and only bytes before the chunk can be lost", h.Position, h.Missing, h.Dropped)
	}
	if h.File == "" {
		if strings.HasPrefix(stream, filePrefix) {
			return fmt.Errorf("cannot store a chunk of stream %s: the name of its file is missing", stream)
		}
		return nil
	}
	name, err := UnescapeName(h.File)
	if err == nil && StreamOf(name) != stream {
		err = fmt.Errorf("cannot store a chunk of file %q in stream %s: its stream is %s", name, stream, StreamOf(name))
	}
	return err
}

// Encode returns a chunk as it is stored.
func (h Head) Encode(content []byte) ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("cannot write the head of a chunk: %w", err)
	}
	return append(append(text, '\n'), content...), nil
}

// ErrDamaged is the error of a stored chunk that cannot be read, and never can.
var ErrDamaged = errors.New("cannot read a stored chunk: its first line is not the head of a chunk: it was damaged where it is stored")

// Decode reads a chunk as it is stored.
func Decode(stored []byte) (Head, []byte, error) {
	text, content, found := bytes.Cut(stored, []byte("\n"))
	var h Head
	if !found || len(text) > maxHead || json.Unmarshal(text, &h) != nil {
		return Head{}, nil, ErrDamaged
	}
	if h.Position < 0 || h.Missing < 0 || h.Dropped < 0 {
		return Head{}, nil, ErrDamaged
	}
	if _, err := UnescapeName(h.File); h.File != "" && err != nil {
		return Head{}, nil, ErrDamaged
	}
	return h, content, nil
}

// plain are the bytes of a name that stay as they are when it is escaped.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/"

// EscapeName returns the name of a file as text that a header may have: other bytes than letters, digits and -._~/ are
// %XX.
func EscapeName(name string) string {
	var text strings.Builder
	for _, b := range []byte(name) {
		if strings.IndexByte(plain, b) >= 0 {
			text.WriteByte(b)
			continue
		}
		fmt.Fprintf(&text, "%%%02X", b)
	}
	return text.String()
}

// UnescapeName reads what EscapeName has written, and nothing else.
func UnescapeName(text string) (string, error) {
	var name []byte
	for rest := text; rest != ""; {
		if rest[0] != '%' {
			name, rest = append(name, rest[0]), rest[1:]
			continue
		}
		b, err := hex.DecodeString(rest[1:min(len(rest), 3)])
		if err != nil || len(b) == 0 {
			break // what was read so far is not the text
		}
		name, rest = append(name, b...), rest[3:]
	}
	if EscapeName(string(name)) != text {
		return "", fmt.Errorf("cannot read the escaped name %.100q: write each byte but letters, digits and -._~/ as %%XX", text)
	}
	return string(name), CheckName(string(name))
}
