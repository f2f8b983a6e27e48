// Package wording finds phrases that Orcon's texts avoid: an old private dialect
// that readers had to decode, and idioms that sound foreign.
//
// What must not come in: where the texts are; callers read files and choose what
// is checked.
package wording

import (
	"regexp"
	"strings"
)

// Hit is a phrase found in a text.
type Hit struct {
	// Offset is the phrase's first byte in the text.
	Offset int
	// Phrase is the text found, on one line.
	Phrase string
	// Cure suggests what to write instead.
	Cure string
}

// pattern is a kind of phrase to avoid.
type pattern struct {
	phrase *regexp.Regexp
	// unless excludes phrases that the expression finds and that are idiomatic.
	unless *regexp.Regexp
	cure   string
}

// patterns lists the phrases to avoid. A space stands for any white space, so that
// a phrase may continue on the next line.
//
//nolint:gochecknoglobals // the table itself
var patterns = []pattern{
	{phrase: words(`\bshall\b`), cure: "must, will, or the present tense"},
	{phrase: words(`\bof (?:which|what)\b|\b\w+ whom\b`), cure: "name it, or split the sentence"},
	{phrase: words(`(?i)\b(?:some|any|no|every)body(?: else)?\b|\bwho(?:m)?ever\b`), cure: "name the user, program or object; or the passive voice"},
	{phrase: words(`\b(?:is|are|was|were|be) (?:what|who|whom)\b`), cure: "a noun or a verb: lists, contains, returns, the …"},
	{phrase: words(`\bmay (?:what|all|nothing)\b`), cure: "has the permissions that …"},
	{phrase: words(`\bbe had\b`), cure: "is available, can be undone"},
	{phrase: words(`\b(?:take|takes|taking|took) (?:no )?part\b`), cure: "is ignored: …, or: Orcon relates …"},
	{phrase: words(`\b(?:is|are|was|were|be|been)(?: then| all)? told\b`), cure: "receives, is reported, is announced"},
	{phrase: words(`\S+ (?:is|are|was) no \w+`), unless: words(`^\W*(?i:there) |no (?:longer|more|different)$`), cure: "is not a …, unexpected …, invalid …"},
	{phrase: words(`\b(?:is|are) there already\b`), cure: "already exists"},
	{phrase: words(`\bit is not \w+ yet\b`), cure: "name the state: is running (0 of 1 completed)"},
	{phrase: words("\\bwants? `?--"), cure: "requires"},
	{phrase: words(`(?:^|[.;:|]\s|\n)(?:That|Of) (?:a|an|it|its|the|they|no|each|what|two) `), cure: "subject first"},
	{phrase: words(`(?:^|[.;]\s|\n)Who [^?.|\n]*\n?[^?.|\n]*\.`), cure: "subject first: a user who, an application that"},
	{phrase: words(`(?:^|[.;:|]\s|\n)Where (?:a|an|it|its|the|they|no|more|there) `), cure: "subject first, then if or when"},
}

// words compiles an expression in which a space stands for any white space.
func words(expression string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(expression, " ", `\s+`))
}

// leader matches what begins a line of a comment.
var leader = regexp.MustCompile(`(?m)^[ \t]*(?://|#|>)+`)

// Find returns the phrases of a text to avoid. The marks that begin a comment's
// lines count as white space.
func Find(text string) []Hit {
	text = leader.ReplaceAllStringFunc(text, func(mark string) string { return strings.Repeat(" ", len(mark)) })
	var hits []Hit
	for _, p := range patterns {
		for _, at := range p.phrase.FindAllStringIndex(text, -1) {
			found := strings.TrimLeft(text[at[0]:at[1]], " \t\n.;:|")
			phrase := strings.Join(strings.Fields(found), " ")
			if p.unless == nil || !p.unless.MatchString(phrase) {
				hits = append(hits, Hit{at[1] - len(found), phrase, p.cure})
			}
		}
	}
	return hits
}
