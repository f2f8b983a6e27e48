package content

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// What processes write to each other is a head, as JSON behind its length, and then a body. The body of a
// request to render is the archives of its layers, one after the other; that of an answer is an archive,
// or the objects.

// maxHead is how large a head may be, in bytes.
const maxHead = 64 << 20

// request is the head that a child receives: one of both.
type request struct {
	Fetch  *fetchRequest  `json:",omitempty"`
	Render *renderRequest `json:",omitempty"`
}

// fetchRequest asks for the content of one source.
type fetchRequest struct {
	Source  Source
	Mirrors map[string][]string
	// Rules are nil where all servers may be reached.
	Rules *destination.Rules
}

// renderRequest asks for the objects of layers.
type renderRequest struct {
	Layers  []layerHead
	Options Options
}

// layerHead describes a layer, whose archive follows the head.
type layerHead struct {
	Destination string
	Size        int64
}

// outcome is the head that a child returns.
type outcome struct {
	// Digest completes the reference.
	Digest string `json:",omitempty"`
	// Notes are Output's.
	Notes []string `json:",omitempty"`
	// Error explains why there is no body; empty if there is one. Refused is the kind of address of a
	// destination.RefusedError; Limit reports bundle.ErrLimit.
	Error   string `json:",omitempty"`
	Refused string `json:",omitempty"`
	Limit   bool   `json:",omitempty"`
}

// failed returns the answer for an error.
func failed(err error) outcome {
	a := outcome{Error: err.Error(), Limit: errors.Is(err, bundle.ErrLimit)}
	if refused, ok := errors.AsType[*destination.RefusedError](err); ok {
		a.Refused = refused.Kind
	}
	return a
}

// err returns the error of an answer; nil if it has a body.
func (a outcome) err() error {
	switch {
	case a.Error == "":
		return nil
	case a.Refused != "":
		return answered{a.Error, &destination.RefusedError{Kind: a.Refused}}
	case a.Limit:
		return answered{a.Error, bundle.ErrLimit}
	}
	return answered{a.Error, nil}
}

// answered is the error that a child returned.
type answered struct {
	text  string
	cause error
}

// Error returns the child's text.
func (a answered) Error() string { return a.text }

// Unwrap returns the part that callers act on.
func (a answered) Unwrap() error { return a.cause }

func writeHead(out io.Writer, head any) error {
	text, err := json.Marshal(head)
	if err == nil && len(text) > maxHead {
		err = bundle.ErrLimit
	}
	if err != nil {
		return fmt.Errorf("cannot write the head: %w", err)
	}
	_, err = out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)) //nolint:gosec // bounded above
	return err
}

func readHead(in io.Reader, head any) error {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return fmt.Errorf("cannot read the head: %w", err)
	}
	length := int64(binary.BigEndian.Uint32(size[:]))
	if length > maxHead {
		return fmt.Errorf("cannot read the head: %w", bundle.ErrLimit)
	}
	text, err := io.ReadAll(io.LimitReader(in, length))
	if err == nil {
		err = json.Unmarshal(text, head)
	}
	if err != nil {
		return fmt.Errorf("cannot read the head: %w", err)
	}
	return nil
}
