package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// largestRoom is how many lines of code a package may have.
const largestRoom = 2000

// roomLines counts the lines of each package.
func roomLines(sources []source) map[string]int {
	all := map[string]int{}
	for _, s := range sources {
		all[s.room()] += s.lines()
	}
	return all
}

// largeRooms lists the packages that are too large.
func largeRooms(t *tree) []offender {
	var all []offender
	rooms := roomLines(t.code)
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		if rooms[room] > largestRoom {
			all = append(all, offender{room, fmt.Sprintf("%d lines", rooms[room]), room})
		}
	}
	return all
}

// bareRooms lists the packages with effects that have fewer lines of tests than of
// code, in their own folder.
func bareRooms(t *tree) []offender {
	var all []offender
	code, tests := roomLines(t.code), roomLines(t.tests)
	for _, room := range slices.Sorted(maps.Keys(code)) {
		if hasEffects(room) && tests[room] < code[room] {
			all = append(all, offender{room, fmt.Sprintf("%.2f lines of tests for each line", float64(tests[room])/float64(code[room])), room})
		}
	}
	return all
}

// hasEffects reports whether a package may talk to Kubernetes, files or networks:
// the rooms of webhook, controller and cmd. What declares types or serves tests has
// none.
func hasEffects(room string) bool {
	floor, _, _ := strings.Cut(room, "/")
	return slices.Contains([]string{"webhook", "controller", "cmd"}, floor) &&
		!strings.HasPrefix(room, "controller/api/") && !strings.HasSuffix(room, "test")
}

// The longest lines, in characters.
const (
	longestCode  = 140
	longestProse = 120
)

// longLines lists the lines of code and scripts that are too long. Tests may have
// tables with long rows.
func longLines(t *tree) []offender {
	var all []offender
	for _, s := range slices.Concat(t.code, t.scripts) {
		all = append(all, longer(s, longestCode)...)
	}
	return all
}

// longProse lists the lines of pages that are too long.
func longProse(t *tree) []offender {
	var all []offender
	for _, s := range t.pages {
		all = append(all, longer(s, longestProse)...)
	}
	return all
}

// longer lists the lines of a file over a length.
func longer(s source, limit int) []offender {
	var all []offender
	n := 0
	for line := range strings.Lines(s.text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if length := utf8.RuneCountInString(line); length > limit {
			all = append(all, offender{fmt.Sprintf("%s:%d", s.name, n), fmt.Sprintf("%d characters, %d allowed", length, limit), s.name + line})
		}
	}
	return all
}

// functionLengths lists the functions of the code with their lines, longest last.
func functionLengths(t *tree) []sized {
	var all []sized
	for s, f := range functions(t.code) {
		if f.Body != nil {
			first, last := t.line(f.Pos()), t.line(f.End())
			all = append(all, sized{fmt.Sprintf("%s:%d", s.name, first), f.Name.Name, last - first + 1})
		}
	}
	return bySize(all)
}

// fileLengths lists the files of the code with their lines, longest last.
func fileLengths(t *tree) []sized {
	var all []sized
	for _, s := range t.code {
		all = append(all, sized{s.name, s.name, s.lines()})
	}
	return bySize(all)
}

// sized is a function or a file with its lines.
type sized struct {
	place, name string
	lines       int
}

// bySize sorts by lines, then by place.
func bySize(all []sized) []sized {
	slices.SortFunc(all, func(a, b sized) int { return cmp.Or(cmp.Compare(a.lines, b.lines), cmp.Compare(a.place, b.place)) })
	return all
}

// quantile returns the lines that a part of all, in percent, does not exceed.
func quantile(all []sized, percent int) int {
	if len(all) == 0 {
		return 0
	}
	return all[(len(all)*percent+99)/100-1].lines
}
