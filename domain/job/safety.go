package job

import (
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Safety says what may happen when a run of a template is started while an earlier one may still be running.
type Safety string

// The levels. The empty string counts as Exclusive.
const (
	// ReadOnly runs change nothing outside.
	ReadOnly Safety = "readonly"
	// Idempotent runs may be repeated, and may overlap for a moment.
	Idempotent Safety = "idempotent"
	// Exclusive runs never overlap: a person decides about one that is lost.
	Exclusive Safety = "exclusive"
)

// ParseSafety reads a level; the empty string is Exclusive.
func ParseSafety(text string) (Safety, error) {
	return parse("safety", text, Exclusive, ReadOnly, Idempotent)
}

// Expires reports whether the lock of a lost run is released when time has passed.
func (s Safety) Expires() bool { return s == ReadOnly || s == Idempotent }

// Concurrency says what happens to a Run that is created while another one is queued or running.
type Concurrency string

// The policies. The empty string counts as Queue.
const (
	// Queue runs one after the other, in order of their creation.
	Queue Concurrency = "Queue"
	// Reject ends a Run at once if another one is queued or running.
	Reject Concurrency = "Reject"
	// SupersedeQueued keeps only the newest queued Run.
	SupersedeQueued Concurrency = "SupersedeQueued"
)

// ParseConcurrency reads a policy; the empty string is Queue.
func ParseConcurrency(text string) (Concurrency, error) {
	return parse("concurrency", text, Queue, Reject, SupersedeQueued)
}

// parse returns the word of a field; the first one is the default.
func parse[T ~string](field, text string, known ...T) (T, error) {
	words := make([]string, len(known))
	for i, word := range known {
		if words[i] = string(word); text == words[i] || text == "" {
			return word, nil
		}
	}
	cure := "use one of " + strings.Join(words, ", ")
	if near := spelling.Nearest(text, words); near != "" {
		cure = fmt.Sprintf("did you mean %q?", near)
	}
	return "", fmt.Errorf("cannot use %s %q: %s", field, text, cure)
}
