package wording

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFind(t *testing.T) {
	tests := map[string]struct {
		why  string
		text string
		want []string
	}{
		"Plain":      {why: "plain English has none", text: "all 4 objects are up to date. There is no limit; it is no longer held"},
		"Shall":      {why: "the present tense says it", text: "4 of 4 objects are as they shall be", want: []string{"shall"}},
		"OfWhich":    {why: "a relative clause that is read twice", text: "two Services, of which one is new, and of\nwhat", want: []string{"of which", "of what"}},
		"Whom":       {why: "with any preposition", text: "tells everybody whom to trust", want: []string{"everybody whom", "everybody"}},
		"Persons":    {why: "a program is not a person", text: "Somebody else may answer; names nobody; whoever relates", want: []string{"Somebody else", "nobody", "whoever"}},
		"IsWhat":     {why: "a definition uses a noun or a verb", text: "content is what is deployed, and author is who made it", want: []string{"is what", "is who"}},
		"MayWhat":    {why: "may needs a verb", text: "Its account may what the bundle needs", want: []string{"may what"}},
		"BeHad":      {why: "from the table of FIRST-HOUR", text: "this would delete what cannot be had back", want: []string{"be had"}},
		"TakesPart":  {why: "from the same table", text: "no Service takes part; it takes no part", want: []string{"takes part", "takes no part"}},
		"Told":       {why: "objects are not told things", text: "the webhook is told it by a variable", want: []string{"is told"}},
		"IsNo":       {why: "a noun is negated by not", text: `"x" is no flag: see --help`, want: []string{`"x" is no flag`}},
		"ThereIsNo":  {why: "existence is", text: "There is no limit, and there is no flag"},
		"Already":    {why: "objects exist", text: "Service web is there already", want: []string{"is there already"}},
		"NotYet":     {why: "a state is named", text: "Job shop/ask: it is not healthy yet", want: []string{"it is not healthy yet"}},
		"Want":       {why: "flags are required", text: "Ends of namespaces want `--confirm`", want: []string{"want `--"}},
		"That":       {why: "the subject comes first", text: "ends it. That a unit has left is remembered", want: []string{"That a"}},
		"ThatOne":    {why: "a pronoun is a subject", text: "Label it. That makes the pod wait"},
		"Where":      {why: "the subject comes first", text: "Where more than five would end, none does", want: []string{"Where more"}},
		"Who":        {why: "a sentence about a kind of user names it", text: "Who must ask marks the endpoint optional.", want: []string{"Who must ask marks the endpoint optional."}},
		"Question":   {why: "a question may begin so", text: "Who waits for whom, and why?", want: []string{"for whom"}},
		"Comment":    {why: "a phrase may go on in the next line of a comment", text: "# the webhook is\n  # told it\n\t// it\n\t// shall", want: []string{"shall", "is told"}},
		"OtherWords": {why: "parts of words are no phrases", text: "marshall body whose partial is whatsoever"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var got []string
			for _, hit := range Find(tc.text) {
				got = append(got, hit.Phrase)
				assert.NotEmpty(t, hit.Cure)
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}

// The offset is the phrase's own, so that a reader is led to its line.
func TestFindNamesThePlace(t *testing.T) {
	text := "One.\nThat a unit left is kept.\n# it\n# shall end"
	var lines []int
	for _, hit := range Find(text) {
		lines = append(lines, 1+strings.Count(text[:hit.Offset], "\n"))
	}
	assert.Equal(t, []int{4, 2}, lines)
}
