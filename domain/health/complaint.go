package health

import (
	"regexp"
	"slices"
	"strings"
)

// worse are words of reasons that name a failure, beside those of states.
//
//nolint:gochecknoglobals // a table
var worse = words(`conflict conflicted conflicting crash exceeded exception fault forbidden illegal incompatible throwable
	unauthorized unresolved`)

// denials are words that name a failure after not: NotFound.
//
//nolint:gochecknoglobals // a table
var denials = words(`allowed found permitted supported`)

// bad reports whether a reason, in one word, names a failure.
func bad(reason string) bool {
	all := parts(reason)
	if negated(all) {
		return false
	}
	if whole := strings.Join(all, ""); whole != "unavailable" && slices.Contains(broken, whole) {
		return true
	}
	for i, part := range all {
		refused := i > 0 && all[i-1] == "not" && slices.Contains(denials, part)
		if refused || slices.Contains(worse, part) || slices.Contains(broken, part) && part != "unavailable" {
			return true
		}
	}
	return false
}

// Words of messages: complaint names a failure, patience what is only not there yet.
var (
	complaint = regexp.MustCompile(`(?i)\b(fail(ed|s|ure)?|errors?|invalid|denied|forbidden|unauthorized|cannot|could not|` +
		`unable to|conflicts?|not allowed|not supported|rejected|crash\w*|refused|timed out|exceeded)\b`)
	patience = regexp.MustCompile(`(?i)\b(not yet|waiting|waits? for|still|pending|in progress|is being|are being|will be)\b`)
)

func complains(message string) bool { return complaint.MatchString(message) }

func patient(message string) bool { return patience.MatchString(message) }
