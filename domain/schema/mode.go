package schema

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Mode is a namespace's policy for schemas (label tengu.io/schema).
type Mode string

// The modes.
const (
	// Warn, the default, tells what does not fit.
	Warn Mode = "warn"
	// Enforce refuses it.
	Enforce Mode = "enforce"
	// Off does not look. What code writes in plain text where a secret belongs is
	// refused all the same.
	Off Mode = "off"
)

// ParseMode reads a namespace's label. What it does not know is Warn: a typing
// error neither refuses what worked nor silences what is wrong.
func ParseMode(text string) Mode {
	if m := Mode(text); m == Enforce || m == Off {
		return m
	}
	return Warn
}

// Refuses reports whether a write with this violation is refused: a secret in plain
// text always (RELATIONS.md P5), all else where the namespace enforces.
func (m Mode) Refuses(v Violation) bool { return v.Secret || m == Enforce }

// Withhold returns the part of a bag that may be stored: all but secrets in plain text (RELATIONS.md P5). A bag
// without them is returned as it is.
func (i Interface) Withhold(role application.Role, isApplication bool, bag map[string]string) (
	kept map[string]string, withheld []Violation) {
	place, kept := PlaceOf(role, isApplication), bag
	for _, f := range i.Bags[place].Fields {
		value := bag[f.Name]
		if _, ok := Reference(value); !f.Secret || value == "" || ok {
			continue
		}
		if withheld == nil {
			kept = maps.Clone(bag)
		}
		delete(kept, f.Name)
		withheld = append(withheld, inPlainText(place, f.Name))
	}
	return kept, withheld
}

// Refusal returns the error that refuses a write: where in the interface it is
// said, and each violation that the mode refuses (RELATIONS.md P4). It is nil if
// there is none.
func (i Interface) Refusal(m Mode, role application.Role, isApplication bool, set map[string]string) error {
	var told []string
	for _, v := range i.Check(role, isApplication, set) {
		if m.Refuses(v) {
			told = append(told, fmt.Sprintf("%s (%s@%d %s/schema%s)", v.Error(), i.Name, i.Version, PlaceOf(role, isApplication), v.Schema))
		}
	}
	if len(told) == 0 {
		return nil
	}
	return errors.New(strings.Join(told, "; "))
}
