package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// ErrSyntax says that the text is not JSON.
var ErrSyntax = errors.New("not JSON")

// ErrType says that a value is of another type than was asked for.
var ErrType = errors.New("unexpected type")

// Cursor is a place in a JSON text. After the first error every method returns
// nothing, so that one check of Err at the end is enough. Read an object with
//
//	for c.Open('{'); c.More('}'); {
//		switch string(c.Key()) {
//		case "name":
//			name = c.Text()
//		default:
//			c.Skip()
//		}
//	}
//
// and a list with '[' and ']', without Key. A null is empty everywhere.
type Cursor struct {
	text  []byte
	at    int
	first bool // nothing of the present object or list has been read
	none  bool // what was opened is null
	err   error
}

// New returns a cursor at the beginning of text.
func New(text []byte) *Cursor { return &Cursor{text: text} }

// Err returns the first error, which wraps ErrSyntax or ErrType.
func (c *Cursor) Err() error { return c.err }

func (c *Cursor) fail(kind error, want string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: at byte %d: want %s", kind, c.at, want)
	}
	c.at = len(c.text)
}

// peek returns the next byte that is not space; 0 at the end.
func (c *Cursor) peek() byte {
	for c.at < len(c.text) {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return b
		}
	}
	return 0
}

// Open enters an object or list.
func (c *Cursor) Open(bracket byte) {
	c.first, c.none = true, false
	switch c.peek() {
	case bracket:
		c.at++
	case 'n':
		c.none = true
		c.Skip()
	case '{', '[', '"', 't', 'f', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		c.fail(ErrType, string(rune(bracket)))
	default:
		c.fail(ErrSyntax, string(rune(bracket)))
	}
}

// More goes to the next member or item, or leaves through the closing bracket.
func (c *Cursor) More(closing byte) bool {
	if c.none || c.err != nil {
		c.none, c.first = false, false
		return false
	}
	first := c.first
	c.first = false
	switch b := c.peek(); {
	case b == closing:
		c.at++
		return false
	case b == ',' && !first:
		c.at++
		if b := c.peek(); b == closing || b == 0 {
			c.fail(ErrSyntax, "a value")
		}
		return c.err == nil
	case b != 0 && b != ',' && first:
		return true
	default:
		c.fail(ErrSyntax, "',' or '"+string(rune(closing))+"'")
		return false
	}
}

// Key reads the name of a member. The bytes are the cursor's.
func (c *Cursor) Key() []byte {
	raw, plain := c.quoted()
	if !plain {
		raw = []byte(c.unquote(raw))
	} else if len(raw) > 0 {
		raw = raw[1 : len(raw)-1]
	}
	if c.peek() != ':' {
		c.fail(ErrSyntax, "':'")
		return nil
	}
	c.at++
	return raw
}

// Text reads a string; a null is "".
func (c *Cursor) Text() string {
	switch c.peek() {
	case '"':
	case 'n':
		c.Skip()
		return ""
	default:
		c.fail(ErrType, "a string")
		return ""
	}
	raw, plain := c.quoted()
	switch {
	case raw == nil:
		return ""
	case !plain:
		return c.unquote(raw)
	default:
		return string(raw[1 : len(raw)-1])
	}
}

// Bool reads a truth value; a null is false.
func (c *Cursor) Bool() bool {
	b := c.peek()
	if b != 't' && b != 'f' && b != 'n' {
		c.fail(ErrType, "true or false")
		return false
	}
	return string(c.Raw()) == "true"
}

// Int reads a whole number; nil for a null.
func (c *Cursor) Int() *int64 {
	raw := c.Raw()
	if string(raw) == "null" || c.err != nil {
		return nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		c.fail(ErrType, "a whole number")
		return nil
	}
	return &n
}

// Texts reads an object of strings; nil for a null.
func (c *Cursor) Texts() map[string]string {
	if c.Null() {
		return nil
	}
	texts := map[string]string{}
	for c.Open('{'); c.More('}'); {
		key := string(c.Key())
		texts[key] = c.Text()
	}
	return texts
}

// Null steps over a null, and reports whether there was one.
func (c *Cursor) Null() bool {
	if c.peek() != 'n' {
		return false
	}
	c.Skip()
	return true
}

// Raw reads a value as it is written. The bytes are the cursor's.
func (c *Cursor) Raw() []byte {
	c.peek()
	start := c.at
	c.Skip()
	if c.err != nil {
		return nil
	}
	return c.text[start:c.at]
}

// Skip steps over a value.
func (c *Cursor) Skip() {
	switch b := c.peek(); {
	case c.err != nil:
	case b == '"':
		c.skipString()
	case b == '{' || b == '[':
		c.skipNested()
	default:
		c.skipScalar()
	}
}

func (c *Cursor) skipNested() {
	depth := 0
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case '"':
			c.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.at++
		if depth == 0 {
			return
		}
	}
	c.fail(ErrSyntax, "a closing bracket")
}

func (c *Cursor) skipScalar() {
	start := c.at
	if n := bytes.IndexAny(c.text[start:], ",}] \t\n\r:\"{["); n >= 0 {
		c.at += n
	} else {
		c.at = len(c.text)
	}
	if !json.Valid(c.text[start:c.at]) {
		c.at = start
		c.fail(ErrSyntax, "a value")
	}
}

func (c *Cursor) skipString() {
	i := c.at + 1
	for {
		j := bytes.IndexByte(c.text[i:], '"')
		if j < 0 {
			c.fail(ErrSyntax, "a closing quote")
			return
		}
		end, escapes := i+j, 0
		for c.text[end-1-escapes] == '\\' {
			escapes++
		}
		i = end + 1
		if escapes%2 == 0 {
			c.at = i
			return
		}
	}
}

// quoted reads a string with its quotes, and reports whether it stands for
// itself: printable ASCII without escapes.
func (c *Cursor) quoted() (raw []byte, plain bool) {
	if c.peek() != '"' {
		c.fail(ErrSyntax, "a string")
		return nil, true
	}
	start := c.at
	for i := start + 1; i < len(c.text); i++ {
		switch b := c.text[i]; {
		case b == '"':
			c.at = i + 1
			return c.text[start:c.at], true
		case b == '\\' || b < ' ' || b >= 0x80:
			c.skipString()
			if c.err != nil {
				return nil, true
			}
			return c.text[start:c.at], false
		}
	}
	c.fail(ErrSyntax, "a closing quote")
	return nil, true
}

// unquote leaves what is rare to encoding/json.
func (c *Cursor) unquote(raw []byte) string {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		c.fail(ErrSyntax, "a string")
	}
	return text
}

// End reports an error if anything but space follows.
func (c *Cursor) End() {
	if c.err == nil && c.peek() != 0 {
		c.fail(ErrSyntax, "nothing more")
	}
}

// Decode reads a value with encoding/json, for where speed does not matter.
func (c *Cursor) Decode(to any) {
	raw := c.Raw()
	if c.err != nil {
		return
	}
	err := json.Unmarshal(raw, to)
	var shape *json.UnmarshalTypeError
	switch {
	case errors.As(err, &shape):
		c.fail(ErrType, shape.Type.String()+" at "+shape.Field)
	case err != nil:
		c.fail(ErrSyntax, "a value")
	}
}
