package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// The limits of a value that is JSON inside the string (SAFETY.md S5).
const (
	// MaxJSONValues is how many texts, numbers, lists and maps it holds.
	MaxJSONValues = 4096
	// MaxJSONDepth is how deep they are nested.
	MaxJSONDepth = 32
)

// Check returns in what a bag does not fit, in order of path; nil if it fits.
// Keys that are not there, or empty (RELATIONS.md P3), are Missing's matter. No
// violation holds a value. Whether one warns or refuses is the caller's choice,
// secret fields excepted: their plain text is always refused (P5).
func (i Interface) Check(role application.Role, isApplication bool, bag map[string]string) []Violation {
	place := PlaceOf(role, isApplication)
	return i.Bags[place].check(place, bag)
}

func (b Bag) check(place Place, bag map[string]string) []Violation {
	if v := tooLarge(bag); v != nil {
		return []Violation{*v}
	}
	t := trial{judge: b.judge, place: place, left: MaxWork}
	for _, key := range slices.Sorted(maps.Keys(bag)) {
		if value := bag[key]; value != "" {
			t.key(key, value)
		}
	}
	return inOrder(t.found)
}

// tooLarge keeps what may be in no bag away from the judges (RELATIONS.md P6).
func tooLarge(bag map[string]string) *Violation {
	for _, key := range slices.Sorted(maps.Keys(bag)) {
		if p := databag.CheckPair(key, bag[key]); p != nil {
			return &Violation{Path: join("", p.Key), Reason: p.Reason}
		}
	}
	if p := databag.CheckSize(bag); p != nil {
		return &Violation{Reason: p.Reason}
	}
	return nil
}

// trial is one look at one bag.
type trial struct {
	judge
	place Place
	found []Violation
	// left is the rest of MaxWork.
	left int
}

func (t *trial) tell(v ...Violation) { t.found = append(t.found, v...) }

// spend takes work from what is left, if there is enough.
func (t *trial) spend(path string, work int) bool {
	if work > t.left {
		t.tell(Violation{Path: path, Reason: "by this schema it is too much to check", Expected: "fewer or smaller values"})
		return false
	}
	t.left -= work
	return true
}

// key judges one key and its value.
func (t *trial) key(key, value string) {
	v, declared := t.fields[key]
	switch {
	case declared && v.secret:
		if _, ok := Reference(value); !ok {
			t.tell(inPlainText(t.place, key))
		}
		return
	case !declared && slices.Contains(t.place.given(), key):
		return
	case !t.spend(join("", key), t.names.work(key, 1)):
		return
	}
	if declared {
		t.value(v, key, value)
	}
	matched := declared
	for _, p := range t.patterns {
		if p.MatchString(key) {
			matched = true
			t.value(p.verdict, key, value)
		}
	}
	switch {
	case matched:
	case t.closed:
		t.tell(Violation{Path: join("", key), Reason: "the interface has no such field", Schema: "/additionalProperties"})
	case t.rest != nil:
		t.value(*t.rest, key, value)
	}
}

// value judges the value of a field that is not secret.
func (t *trial) value(v verdict, key, value string) {
	path, values, inside := join("", key), 1, any(nil)
	if v.json {
		var err error
		if inside, values, err = parseJSON(value); err != nil {
			_, at, _ := strings.Cut(v.text.Location, "#")
			t.tell(Violation{Path: path, Reason: err.Error(), Expected: "JSON", Schema: at + "/contentMediaType"})
			return
		}
	}
	if !t.spend(path, v.cost.work(value, values)) {
		return
	}
	t.tell(violations(path, v.text.Validate(value))...)
	if v.content != nil {
		t.tell(violations(path, v.content.Validate(inside))...)
	}
}

// parseJSON reads a value that is JSON, within the limits, and counts the values
// in it. Numbers become float64:
// the library calculates exactly, and 1e999999999 has a thousand million digits.
func parseJSON(text string) (v any, values int, err error) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		if syntax := new(json.SyntaxError); errors.As(err, &syntax) {
			return nil, 0, fmt.Errorf("it is not JSON, as byte %d shows", syntax.Offset)
		}
		return nil, 0, errors.New("it is not JSON that can be read: a number in it is too large")
	}
	values, depth := extent(v)
	if values > MaxJSONValues || depth > MaxJSONDepth {
		return nil, 0, fmt.Errorf("it is JSON with more than %d values or %d levels", MaxJSONValues, MaxJSONDepth)
	}
	return v, values, nil
}

// extent counts the values in JSON and its levels.
func extent(v any) (values, depth int) {
	below := func(item any) {
		n, d := extent(item)
		values, depth = values+n, max(depth, d)
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			below(item)
		}
	case map[string]any:
		for _, item := range v {
			below(item)
		}
	}
	return values + 1, depth + 1
}
