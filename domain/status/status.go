package status

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// State is how a unit, an application or a side of a relation is, in one of Juju's
// words.
type State string

// The states that a workload may set, and what it is that has set none.
const (
	Maintenance State = "maintenance"
	Blocked     State = "blocked"
	Waiting     State = "waiting"
	Active      State = "active"
	Unknown     State = "unknown"
)

// States lists those that a workload may set, in Juju's order.
func States() []State { return []State{Maintenance, Blocked, Waiting, Active} }

// The limits of statuses. A hundred units must fit into one object.
const (
	// maxText is the longest message or resolution, in bytes.
	maxText = 1024
	// maxCode is the longest code.
	maxCode = 64
)

// Info is the status that a workload reports.
type Info struct {
	// State is empty where nothing was said.
	State   State
	Message string
	// Code is one word for programs, and Resolution what a person can do about it:
	// of a side of a relation (RELATIONS.md L3). Both may be empty.
	Code, Resolution string
	// Since is when it was said first, in whole seconds.
	Since time.Time
}

// Said reports whether anything was.
func (i Info) Said() bool { return i.State != "" }

// Same reports whether i and j say the same, whenever they did.
func (i Info) Same(j Info) bool {
	i.Since, j.Since = time.Time{}, time.Time{}
	return i == j
}

// Check returns i with texts that are fit to be shown, or what is wrong with it: a
// sentence that names the field, the reason and the cure.
func (i Info) Check() (Info, error) {
	switch {
	case !slices.Contains(States(), i.State):
		return i, fmt.Errorf("status: %.40q is none; write one of %s", string(i.State), joined(States()))
	case i.Code != "" && !IsCode(i.Code):
		return i, fmt.Errorf("code: %.80q is not one word; write letters and digits, for example NoDatabase", i.Code)
	}
	for name, text := range map[string]*string{"message": &i.Message, "resolution": &i.Resolution} {
		if len(*text) > maxText {
			return i, fmt.Errorf("%s: it has %d bytes, and %d are the most; write less", name, len(*text), maxText)
		}
		*text = tidy(*text)
	}
	return i, nil
}

var code = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// IsCode reports whether text can be the code of a status: a letter, then at most
// 63 letters and digits.
func IsCode(text string) bool { return len(text) <= maxCode && code.MatchString(text) }

// Reason is one word for what i says: its code, or its state as Kubernetes writes
// reasons.
func (i Info) Reason() string {
	if i.Code != "" || !i.Said() {
		return i.Code
	}
	return strings.ToUpper(string(i.State[:1])) + string(i.State[1:])
}

// Text returns i as one sentence for people.
func (i Info) Text() string {
	text := cmp.Or(i.Message, string(i.State))
	if i.Resolution != "" {
		text += "; " + i.Resolution
	}
	return text
}

// Worst returns the status of an application whose leader has set none: that of the
// unit that needs most care, the first of several, as Juju has it.
func Worst(units []Info) Info {
	care := []State{Active, Waiting, Maintenance, Blocked}
	var worst Info
	for _, u := range units {
		if slices.Index(care, u.State) > slices.Index(care, worst.State) {
			worst = u
		}
	}
	return worst
}

func joined(states []State) string {
	var words []string
	for _, s := range states {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

// tidy makes of any text one line that is fit for a terminal.
func tidy(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool {
		return !isShown(r)
	}), " ")
}

// cut shortens a text to its last bytes: what went wrong is said last.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most+len(Cut):]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return Cut + text
}
