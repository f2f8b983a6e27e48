package arch

import (
	"bytes"
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

// rule is a row of RULES.md.
type rule struct {
	ruleID
	sentence string
	state    string
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
	// inTest says that the file is one of tests, or what they read.
	inTest bool
}

// parseRules reads the tables of RULES.md: one for each heading that is a
// document's name.
func parseRules(text string) ([]rule, error) {
	heading, id := regexp.MustCompile(`^## ([A-Z]+\.md)$`), regexp.MustCompile(`^[A-Z]?[0-9]+$`)
	var rules []rule
	var faults []error
	seen := map[ruleID]bool{}
	document := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if found := heading.FindStringSubmatch(line); found != nil {
			document = found[1]
			continue
		}
		if document == "" || !strings.HasPrefix(line, "|") || line == "| Rule | What it says | State |" || strings.HasPrefix(line, "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 3 || !id.MatchString(cells[0]) || cells[1] == "" || !slices.Contains([]string{holds, next, later}, cells[2]) {
			faults = append(faults, fmt.Errorf("cannot read a row of %s: %q is not | id | sentence | %s, %s or %s |", document, line, holds, next, later))
			continue
		}
		r := rule{ruleID{document, cells[0]}, cells[1], cells[2]}
		if seen[r.ruleID] {
			faults = append(faults, fmt.Errorf("cannot tell two rules %s apart", r.ruleID))
		}
		seen[r.ruleID] = true
		rules = append(rules, r)
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
			all = append(all, fmt.Sprintf("%s: %s", r.ruleID, r.sentence))
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
