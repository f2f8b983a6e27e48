package spelling

import (
	"regexp"
	"strings"
)

var (
	aroundMarks = regexp.MustCompile(`\s*([:=@?!.])\s*`)
	otherCommas = regexp.MustCompile(`[;\s]+`)
	serviceName = regexp.MustCompile(`^([^.:]*\.[^.:]*)\.svc[^:]*`)
	nameAndMark = regexp.MustCompile(`([^:=@?!.]*)([:=@?!.]?)`)
)

// Entry returns the text that is nearest to a wrong entry of a list, such as orders:Http, and that is right: the whole
// entry, since a corrected name alone declares something else. It returns "" if nothing near is right.
func Entry(entry string, right func(entry string) bool) string {
	if len(entry) > longest {
		return ""
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
			return text
		}
	}
	return ""
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
		all.WriteString(Name(part[1], also) + part[2])
	}
	return all.String()
}

// Name returns a name in lower case with '-' for each character that is neither a letter, a digit nor in also.
func Name(name, also string) string {
	mapped := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', strings.ContainsRune(also, r):
			return r
		default:
			return '-'
		}
	}, strings.ToLower(name))
	return strings.Trim(mapped, "-_")
}
