package docs

import (
	"regexp"
	"strings"
)

// masks replace what differs from one run to the next. The order matters: what
// is replaced is not read again.
func masks() []struct {
	pattern *regexp.Regexp
	by      string
} {
	type mask = struct {
		pattern *regexp.Regexp
		by      string
	}
	return []mask{
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
		{regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b`), "ADDRESS"},
		{regexp.MustCompile(`-([0-9a-f]{8,10}|[bcdfghjklmnpqrstvwxz2456789]{8,10})-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "-POD"},
		{regexp.MustCompile(`\b[0-9a-f]{10,}\b`), "HASH"},
		{regexp.MustCompile(`(^|[^0-9A-Za-z.=])(\d+(\.\d+)?( ms|ms|µs|s|m|h|d))+\b`), "${1}AGE"},
		{regexp.MustCompile(`\s+`), " "},
	}
}

// mask returns a line without what differs from one run to the next.
func mask(line string) string {
	for _, m := range masks() {
		line = m.pattern.ReplaceAllString(line, m.by)
	}
	return strings.TrimSpace(line)
}

// Matches reports whether a program printed what a page shows.
func Matches(want, got string) bool {
	return matchLines(content(want), content(got))
}

// content returns the masked lines that are not empty.
func content(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = mask(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

func matchLines(want, got []string) bool {
	switch {
	case len(want) == 0:
		return len(got) == 0
	case want[0] == "…":
		for skip := range len(got) + 1 {
			if matchLines(want[1:], got[skip:]) {
				return true
			}
		}
		return false
	case len(got) == 0 || !matchLine(want[0], got[0]):
		return false
	}
	return matchLines(want[1:], got[1:])
}

func matchLine(want, got string) bool {
	if !strings.Contains(want, "…") {
		return want == got
	}
	var parts []string
	for part := range strings.SplitSeq(want, "…") {
		parts = append(parts, regexp.QuoteMeta(strings.TrimSpace(part)))
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got)
}
