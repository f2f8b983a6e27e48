package conversation

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Unit names one unit as tools and handlers know it: application/number. The
// application of another namespace is written name.namespace.
type Unit struct {
	Application string
	Number      int
}

// String returns application/number.
func (u Unit) String() string { return u.Application + "/" + strconv.Itoa(u.Number) }

// ParseUnit reads application/number.
func ParseUnit(text string) (Unit, error) {
	application, digits, found := strings.Cut(text, "/")
	number, err := strconv.Atoi(digits)
	if !found || application == "" || err != nil || number < 0 || digits != strconv.Itoa(number) {
		return Unit{}, fmt.Errorf("cannot read unit %q: write application/number, for example web/0", text)
	}
	return Unit{application, number}, nil
}

// Compare orders units naturally: a/2 before a/10 (RELATIONS.md E3).
func (u Unit) Compare(v Unit) int {
	return cmp.Or(strings.Compare(u.Application, v.Application), cmp.Compare(u.Number, v.Number))
}

// MarshalText writes the unit as a key of JSON.
func (u Unit) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (u *Unit) UnmarshalText(text []byte) (err error) {
	*u, err = ParseUnit(string(text))
	return err
}
