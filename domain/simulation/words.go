package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// words are the variable parts of a step, by the names that its form gives them.
type words map[string]string

// verb is one form of step. In its form a word in capitals stands for one word of
// the step, and one that ends with "…" for the rest of it.
type verb struct {
	form string
	help string
	do   func(w *world, s step) error
}

// findVerb returns the verb of a step: of several that fit, the one that says more.
func findVerb(text string) (verb, words, error) {
	var known []string
	all := verbs()
	slices.SortStableFunc(all, func(a, b verb) int { return len(strings.Fields(fixed(b.form))) - len(strings.Fields(fixed(a.form))) })
	for _, v := range all {
		if found, ok := match(v.form, text); ok {
			return v, found, nil
		}
		known = append(known, fixed(v.form))
	}
	return verb{}, nil, fmt.Errorf("%w: no step reads %q%s", ErrScenario, text, nearestForm(text, known))
}

// match compares a step with a form, word by word.
func match(form, text string) (words, bool) {
	found := words{}
	rest := text
	for word := range strings.FieldsSeq(form) {
		rest = strings.TrimLeft(rest, " \t")
		name, all := strings.CutSuffix(word, "…")
		if all {
			found[name] = rest
			return found, rest != ""
		}
		next, after, _ := strings.Cut(rest, " ")
		plain, colon := strings.CutSuffix(word, ":")
		switch {
		case next == "":
			return nil, false
		case plain != strings.ToUpper(plain): // a word of the language
			if next != word {
				return nil, false
			}
		case colon && !strings.HasSuffix(next, ":"):
			return nil, false
		default:
			if colon {
				next = strings.TrimSuffix(next, ":")
			}
			found[plain] = next
		}
		rest = after
	}
	return found, strings.TrimSpace(rest) == ""
}

// fixed are the words of a form that are always the same.
func fixed(form string) string {
	var all []string
	for word := range strings.FieldsSeq(form) {
		if word != strings.ToUpper(word) {
			all = append(all, word)
		}
	}
	return strings.Join(all, " ")
}

// nearestForm names the form that was most likely meant: the one with the nearest
// word of the language, wherever in the step that stands.
func nearestForm(text string, known []string) string {
	var all []string
	for _, phrase := range known {
		all = append(all, strings.Fields(phrase)...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for word := range strings.FieldsSeq(text) {
		word = strings.TrimSuffix(word, ":")
		near := spelling.Nearest(word, all)
		if slices.Contains(all, word) {
			near = word
		}
		if near == "" {
			continue
		}
		for _, v := range verbs() {
			if slices.Contains(strings.Fields(fixed(v.form)), near) {
				return "; did you mean: " + v.form + "?"
			}
		}
	}
	return "; 'orcon sim --steps' lists the steps"
}

// suggestion names the known word that is nearest to what was written.
func suggestion(written string, known []string) string {
	if near := spelling.Nearest(written, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	if len(known) == 0 {
		return ""
	}
	return "; there are: " + strings.Join(known, ", ")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Steps lists the forms of all steps with what they do, for people.
func Steps() []string {
	var all []string
	for _, v := range verbs() {
		all = append(all, fmt.Sprintf("%-44s %s", v.form, v.help))
	}
	return all
}
