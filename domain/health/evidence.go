package health

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// deepest bounds how deep evidence is looked for.
const deepest = 16

// past are fields about what was, not what is.
//
//nolint:gochecknoglobals // a table
var past = []string{"history", "lastState"}

// asked are fields of a spec that suspend an object.
//
//nolint:gochecknoglobals // a table
var asked = words(`halted pause paused runPolicy.suspend shutdown stopped suspend suspended`)

// evidence returns what the spec and the status show, in an order that does not depend on theirs.
func (o subject) evidence() []Evidence {
	var all []Evidence
	for _, name := range asked {
		if o.at(append([]string{"spec"}, strings.Split(name, ".")...)...) == true {
			all = append(all, Evidence{Path: "spec." + name, Value: "true", Class: Pause, Says: "is suspended: spec." + name + " is true"})
		}
	}
	all = append(all, o.search("status", "status", o.at("status"), 0)...)
	if slices.ContainsFunc(all, func(e Evidence) bool { return e.Class == Positive && !e.partial }) {
		all = slices.DeleteFunc(all, func(e Evidence) bool { return e.partial })
	}
	slices.SortStableFunc(all, func(a, b Evidence) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Says, b.Says))
	})
	return all
}

// search returns the evidence in a value of a status and below it.
func (o subject) search(path, name string, value any, depth int) []Evidence {
	if depth > deepest || slices.Contains(past, name) {
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		return o.searchMap(path, v, depth)
	case []any:
		var all []Evidence
		for _, entry := range v {
			all = append(all, o.search(path+"["+label(entry)+"]", "", entry, depth+1)...)
		}
		return all
	}
	_, kind := o.kind()
	return leaf(isRun(kind), path, name, value)
}

func (o subject) searchMap(path string, fields map[string]any, depth int) []Evidence {
	all := o.counts(path, fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		below := path + "." + name
		if name == "conditions" {
			all = append(all, o.conditions(below, fields[name])...)
			continue
		}
		all = append(all, o.search(below, name, fields[name], depth+1)...)
	}
	explained, found := explanation(fields)
	if explained == "" {
		return all
	}
	all = slices.Clone(all)
	for i, e := range all {
		if e.Class == Negative && !e.summary && strings.LastIndex(e.Path, ".") == len(path) {
			all[i].Class, all[i].Says = Failure, e.Says+": "+explained
		}
	}
	if found != "" {
		all = append(all, Evidence{Path: path + "." + found, Value: explained, Class: Failure, Says: "reports an error: " + explained})
	}
	return all
}

// explanation returns the failure that a map names beside its evidence, and the name of the field that is an
// error of itself; empty if it names none.
func explanation(fields map[string]any) (text, field string) {
	for _, name := range []string{"error", "errorMessage", "failureMessage", "failureReason", "errors", "problems"} {
		if text := failure(fields[name]); text != "" {
			return text, name
		}
	}
	if text, _ := fields["message"].(string); complains(text) && !patient(text) {
		return text, ""
	}
	return "", ""
}

// failure returns the words of a field that holds an error; empty if it holds none.
func failure(value any) string {
	switch e := value.(type) {
	case string:
		if !strings.EqualFold(e, "none") {
			return e
		}
	case map[string]any:
		text, _ := e["message"].(string)
		return text
	case []any:
		if len(e) > 0 {
			return cmp.Or(failure(e[0]), fmt.Sprint(e[0]))
		}
	}
	return ""
}

// label returns the name of an entry of a list: its place in the list says nothing.
func label(entry any) string {
	fields, _ := entry.(map[string]any)
	for _, key := range []string{"name", "type", "id"} {
		if name := fields[key]; name != nil {
			return fmt.Sprint(name)
		}
	}
	return ""
}

// leaf returns the evidence of one value: a word, a boolean, or a pair of counts in a text.
func leaf(run bool, path, name string, value any) []Evidence {
	class, found := Class(""), false
	switch v := value.(type) {
	case bool:
		class, found = flag(name, v)
	case string:
		if class, found = ratio(name, v); !found && isWord(name) {
			class, found = wordOf(run, v)
		}
	}
	if !found {
		return nil
	}
	says := fmt.Sprintf("%s is %v", strings.TrimPrefix(path, "status."), value)
	return []Evidence{{Path: path, Value: fmt.Sprint(value), Class: class, Says: says}}
}

// fraction is a pair of counts in a text.
var fraction = regexp.MustCompile(`^([0-9]{1,9})/([0-9]{1,9})$`)

// ratio returns the class of a text such as 1/3.
func ratio(name, value string) (Class, bool) {
	pair := fraction.FindStringSubmatch(value)
	name = plain(name)
	ends := func(end string) bool { return strings.HasSuffix(name, end) }
	if pair == nil || !slices.ContainsFunc([]string{"replicas", "ready", "available"}, ends) {
		return "", false
	}
	have, _ := number(pair[1])
	want, _ := number(pair[2])
	switch {
	case have < want:
		return Negative, true
	case want > 0:
		return Positive, true
	}
	return "", false
}

// plain returns the letters of a name in lower case.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// parts splits a name or a phrase into lower-case words: ImagePullFailed, SUBMISSION_FAILED.
func parts(text string) []string {
	var all []string
	begin := 0
	letters := []rune(text)
	for i := 1; i <= len(letters); i++ {
		edge := i == len(letters) || !unicode.IsLetter(letters[i]) || !unicode.IsLetter(letters[i-1]) ||
			unicode.IsUpper(letters[i]) && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if !edge {
			continue
		}
		if part := plain(string(letters[begin:i])); part != "" {
			all = append(all, part)
		}
		begin = i
	}
	return all
}
