package arch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ruleID names a rule: the same letter and number mean something else in another
// document, some of which have numbers alone.
type ruleID struct{ document, id string }

func (r ruleID) String() string { return r.document + " " + r.id }

// rule is one rule of docs/rules.
type rule struct {
	ruleID
	text  string
	state string
}

// The states of a rule. What holds must be proved by a test.
const (
	holds = "holds"
	next  = "next"
	later = "later"
)

// citation is one mention of a rule.
type citation struct {
	ruleID
	// place is the file and the line.
	place string
	// inTest reports that the file is a test, or read by one.
	inTest bool
}

// readRules reads every document of a folder: each file with an upper-case name,
// except README.md.
func readRules(folder string) ([]rule, error) {
	files, err := filepath.Glob(filepath.Join(folder, "[A-Z]*.md"))
	if err != nil {
		return nil, err
	}
	var rules []rule
	var faults []error
	for _, file := range files {
		document := filepath.Base(file)
		if document == "README.md" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := parseRules(document, string(text))
		rules, faults = append(rules, found...), append(faults, err)
	}
	return rules, errors.Join(faults...)
}

// parseRules reads a document: each heading of the third level is an id, with
// "(next)" or "(later)" unless the rule holds, and the text up to the next
// heading is its rule.
func parseRules(document, text string) ([]rule, error) {
	heading := regexp.MustCompile(`^### ([A-Z]?[0-9]+)(?: \((next|later)\))?$`)
	var rules []rule
	var faults []error
	seen := map[ruleID]bool{}
	inRule := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		found := heading.FindStringSubmatch(line)
		switch {
		case found != nil:
			r := rule{ruleID: ruleID{document, found[1]}, state: cmp.Or(found[2], holds)}
			if seen[r.ruleID] {
				faults = append(faults, fmt.Errorf("two rules are named %s", r.ruleID))
			}
			seen[r.ruleID], inRule = true, true
			rules = append(rules, r)
		case strings.HasPrefix(line, "###"):
			faults = append(faults, fmt.Errorf("cannot read %q of %s: want ### ID, ### ID (%s) or ### ID (%s)", line, document, next, later))
			inRule = false
		case strings.HasPrefix(line, "#"):
			inRule = false
		case inRule:
			last := &rules[len(rules)-1]
			last.text = strings.TrimSpace(last.text + " " + line)
		}
	}
	for _, r := range rules {
		if r.text == "" {
			faults = append(faults, fmt.Errorf("rule %s has no text", r.ruleID))
		}
	}
	if len(rules) == 0 {
		faults = append(faults, fmt.Errorf("%s has no rules", document))
	}
	return rules, errors.Join(faults...)
}

// documents are the names that begin a citation, each once.
func documents(rules []rule) []string {
	var names []string
	for _, r := range rules {
		if !slices.Contains(names, r.document) {
			names = append(names, r.document)
		}
	}
	return names
}

// citations returns what a file's text cites of some documents: a document's
// name and the ids that follow it, one, several or a range, also over the end of
// a line and in the comments of Go, shell and YAML. Ids with a letter and those without
// do not follow each other.
func citations(file, text string, documents []string) []citation {
	const follows = `(?:[\s,]*(?:(?:and|or)\s+|[–-]\s*)?\b`
	named := regexp.MustCompile(`\b(` + strings.ReplaceAll(strings.Join(documents, "|"), ".", `\.`) + ")`?(" + follows + `[A-Z][0-9]{1,2}\b)+|` + follows + `[0-9]{1,2}\b)+)`)
	each := regexp.MustCompile(`([A-Z]?)([0-9]+)(?:\s*[–-]\s*([A-Z]?)([0-9]+))?`)
	leader := regexp.MustCompile(`(?m)^[ \t]*(//|#|>)?`)
	text = leader.ReplaceAllString(text, "")
	var all []citation
	for _, at := range named.FindAllStringSubmatchIndex(text, -1) {
		place := fmt.Sprintf("%s:%d", file, 1+strings.Count(text[:at[0]], "\n"))
		for _, m := range each.FindAllStringSubmatch(text[at[4]:at[5]], -1) {
			for _, id := range between(m[1], m[2], m[3], m[4]) {
				all = append(all, citation{ruleID{text[at[2]:at[3]], id}, place, isTest(file)})
			}
		}
	}
	return all
}

// between returns the ids of a range, or the one id if it is none. The ends of
// what is no range (another letter, backwards) stand for themselves.
func between(letter, first, lastLetter, last string) []string {
	from, _ := strconv.Atoi(first)
	to, err := strconv.Atoi(last)
	switch {
	case err != nil:
		return []string{letter + first}
	case lastLetter != letter || to < from:
		return []string{letter + first, lastLetter + last}
	}
	var all []string
	for n := from; n <= to; n++ {
		all = append(all, letter+strconv.Itoa(n))
	}
	return all
}

// isTest reports whether a file is one of tests: Go's, or the archives that they
// read.
func isTest(file string) bool {
	return strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".txtar") && strings.Contains(file, "testdata/")
}

// unproved names each rule that holds and that no test cites.
func unproved(rules []rule, cited []citation) []string {
	var all []string
	for _, r := range rules {
		if r.state == holds && !slices.ContainsFunc(cited, func(c citation) bool { return c.inTest && c.ruleID == r.ruleID }) {
			all = append(all, fmt.Sprintf("%s: %s", r.ruleID, r.text))
		}
	}
	return all
}

// unknown names each citation of a rule that is not in the list.
func unknown(rules []rule, cited []citation) []string {
	var all []string
	for _, c := range cited {
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.ruleID == c.ruleID }) {
			all = append(all, fmt.Sprintf("%s: %s", c.place, c.ruleID))
		}
	}
	return all
}

// largestText is the size of a file that people may have written.
const largestText = 1 << 20

// repositoryCitations returns what all files of a repository cite, but for
// what is built and what is not text.
func repositoryCitations(root string, documents []string) ([]citation, error) {
	var all []citation
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if name == ".git" || entry.IsDir() && (name == "bin" || name == "dist") {
			return skip(entry)
		}
		if info, err := entry.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > largestText {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			return err
		}
		relative, err := filepath.Rel(root, file)
		all = append(all, citations(filepath.ToSlash(relative), string(text), documents)...)
		return err
	})
	return all, err
}

// skip leaves out a folder; .git is a file in a further work tree.
func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return filepath.SkipDir
	}
	return nil
}
