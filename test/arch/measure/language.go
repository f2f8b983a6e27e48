package main

import (
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/test/arch/wording"
)

// oddComments lists the phrases to avoid in the comments of code.
func oddComments(t *tree) []offender {
	var all []offender
	for _, s := range t.code {
		for _, group := range s.parsed.Comments {
			from := t.set.Position(group.Pos())
			text := s.text[from.Offset:t.set.Position(group.End()).Offset]
			for _, hit := range wording.Find(text) {
				line := from.Line + strings.Count(text[:hit.Offset], "\n")
				all = append(all, offender{fmt.Sprintf("%s:%d", s.name, line), fmt.Sprintf("%q: write %s", hit.Phrase, hit.Cure), s.name + hit.Phrase})
			}
		}
	}
	return all
}
