package main

import "fmt"

// offender is one thing that a measure counts.
type offender struct {
	// place is a file and line, or a package.
	place string
	what  string
	// key tells offenders apart in two trees, where lines have moved.
	key string
}

// measure is one count that must not become worse.
type measure struct {
	// name is what --list takes.
	name string
	// title says what is counted.
	title string
	goal  int
	// tolerant measures may become worse up to their goal.
	tolerant bool
	cure     string
	value    func(*tree) int
	list     func(*tree) []offender
}

// measures lists all measures in the order of the table.
func measures() []measure {
	all := []measure{
		counted("methods", fmt.Sprintf("types with more than %d methods", mostMethods), 3, manyMethods, "split the type: values, and functions that return values"),
		{name: "excess", title: fmt.Sprintf("methods over %d of a type, together", mostMethods), goal: 15, value: excess, list: methodsOfLarge, cure: "move what needs few fields to a type of its own"},
		counted("fields", fmt.Sprintf("types with methods and more than %d fields", mostFields), 2, manyFields, "group fields by meaning, or part data from behaviour"),
		counted("twins", "structs of two packages that are alike", 0, twins, "keep one of the two types, in the package that both may import"),
		counted("nouns", fmt.Sprintf("names of more than %d types", mostTypes), 0, nouns, "one word, one meaning: see the dictionary in CONTRIBUTING.md"),
		counted("packages", fmt.Sprintf("packages over %d lines", largestRoom), 3, largeRooms, "move a subject to a package of its own"),
		counted("bare", "packages with effects and less tests than code", 0, bareRooms, "add tests beside the code, with fakes that behave"),
		counted("reach", "domain assignments through a parameter", 0, reaches, "return the new value, or move the method to the file of its type"),
		counted("wording", "odd phrases in comments", 40, oddComments, "delete the comment, or write it as CONTRIBUTING.md says"),
		counted("lines", fmt.Sprintf("lines of code over %d characters", longestCode), 40, longLines, "break the line"),
		counted("prose", fmt.Sprintf("lines of pages over %d characters", longestProse), 0, longProse, "break the line; a long table row becomes a section"),
	}
	all = append(all, lengths("functions", functionLengths, [3]int{10, 27, 53})...)
	return append(all, lengths("files", fileLengths, [3]int{99, 273, 485})...)
}

// counted makes a measure whose value is the number of its offenders.
func counted(name, title string, goal int, list func(*tree) []offender, cure string) measure {
	return measure{name: name, title: title, goal: goal, cure: cure, list: list, value: func(t *tree) int { return len(list(t)) }}
}

// lengths makes the measures of the median, the 95th percentile and the longest of
// functions or files.
func lengths(name string, list func(*tree) []sized, goals [3]int) []measure {
	var all []measure
	for i, part := range []struct {
		name    string
		percent int
	}{{"median", 50}, {"p95", 95}, {"longest", 100}} {
		goal := goals[i]
		all = append(all, measure{
			name: name + "-" + part.name, title: "lines of " + name + ", " + part.name, goal: goal, tolerant: true,
			cure:  "split by subject; short " + name + " bought by one large type do not count",
			value: func(t *tree) int { return quantile(list(t), part.percent) },
			list: func(t *tree) []offender {
				var long []offender
				for _, s := range list(t) {
					if s.lines > goal {
						long = append(long, offender{s.place, fmt.Sprintf("%s has %d lines", s.name, s.lines), s.place + s.name})
					}
				}
				return long
			},
		})
	}
	return all
}

// worse reports whether a value must not follow its parent's.
func (m measure) worse(parent, now int) bool {
	return now > parent && (!m.tolerant || now > m.goal)
}

// added returns the offenders that were not there before, by their keys: as many
// as a key has more of, the last ones first to be named.
func added(parent, now []offender) []offender {
	before := map[string]int{}
	for _, o := range parent {
		before[o.key]++
	}
	var all []offender
	for _, o := range now {
		if before[o.key]--; before[o.key] < 0 {
			all = append(all, o)
		}
	}
	return all
}
