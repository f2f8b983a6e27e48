package application

import (
	"regexp"
	"strings"
)

// longestRewritten is the longest entry for which a cure repeats it.
const longestRewritten = 3 * maxName

var (
	aroundMarks = regexp.MustCompile(`\s*([:=@?!.])\s*`)
	otherCommas = regexp.MustCompile(`[;\s]+`)
	serviceName = regexp.MustCompile(`^([^.:]*\.[^.:]*)\.svc[^:]*`)
	nameAndMark = regexp.MustCompile(`([^:=@?!.]*)([:=@?!.]?)`)
)

// rewritten returns the cure of an entry of a list that is wrong: the entry as a whole, as nearly as it can stand there,
// since who writes a corrected name alone declares something else. It returns cure if nothing near is right.
func rewritten(entry, cure string, right func(entry string) bool) string {
	if len(entry) > longestRewritten {
		return cure
	}
	tight := aroundMarks.ReplaceAllString(entry, "$1")
	candidates := []string{tight, serviceName.ReplaceAllString(tight, "$1")}
	if strings.ContainsAny(entry, ":=") {
		candidates = append(candidates, strings.Trim(otherCommas.ReplaceAllString(tight, ","), ","))
	}
	for _, text := range append(candidates, nearNames(tight)) {
		fits := text != entry
		for one := range strings.SplitSeq(text, ",") {
			fits = fits && right(one)
		}
		if fits {
			return "write " + text
		}
	}
	return cure
}

// nearNames returns an entry with each name replaced by the nearest one that is allowed. The name of an application, or
// of its namespace, has no '_'.
func nearNames(entry string) string {
	var all strings.Builder
	refers := strings.ContainsAny(entry, "=.")
	for _, part := range nameAndMark.FindAllStringSubmatch(entry, -1) {
		also := "_-"
		if refers && part[2] != "=" && !strings.HasSuffix(all.String(), ":") {
			also = "-"
		}
		all.WriteString(nearName(part[1], also) + part[2])
	}
	return all.String()
}
