package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every rule that holds is cited by a test, and every citation is of a rule that
// a reader can look up.
func TestRules(t *testing.T) {
	rules, err := readRules(filepath.Join(repository, "docs/rules"))
	require.NoError(t, err)
	require.Subset(t, documents(rules), []string{"SAFETY.md", "RELATIONS.md", "INJECTION.md", "BUNDLES.md"})
	cited, err := repositoryCitations(repository, documents(rules))
	require.NoError(t, err)
	for _, r := range unproved(rules, cited) {
		assert.Fail(t, "a rule holds and no test cites it", r)
	}
	for _, c := range unknown(rules, cited) {
		assert.Fail(t, "a citation of a rule that docs/rules does not have", c)
	}
}

// The rules of an invented document: its citations in this file are none of Orcon.
const houseRules = `# HOUSE.md

Rules for houses.

## Openings

### P1

Doors are shut.

### P2

Windows
too.

## Above

Not a rule.

### W1 (next)

There is a roof.
`

// A checker that cannot fail proves nothing.
func TestRulesCanBeBroken(t *testing.T) {
	tests := map[string]struct {
		why   string
		files map[string]string
		// missing and strange begin what is found.
		missing, strange []string
	}{
		"Proved": {
			why:   "each rule that holds is cited by some test; what comes next need not be",
			files: map[string]string{"a/door_test.go": "// HOUSE.md P1: shut.\n", "b/window_test.go": "\tassert.True(t, shut, \"HOUSE.md P2\")\n"},
		},
		"Uncited": {
			why:     "a rule without a test is told with its sentence",
			files:   map[string]string{"door_test.go": "// HOUSE.md P1\n"},
			missing: []string{"HOUSE.md P2: Windows too."},
		},
		"CodeOnly": {
			why:     "code says what it means to do, and proves nothing; nor does a page",
			files:   map[string]string{"door.go": "// HOUSE.md P1\n", "README.md": "HOUSE.md P2\n", "testdata/note.md": "HOUSE.md P1\n"},
			missing: []string{"HOUSE.md P1: Doors are shut.", "HOUSE.md P2: Windows too."},
		},
		"Archive": {
			why:   "what a test reads belongs to it",
			files: map[string]string{"a/testdata/x/door.txtar": "HOUSE.md P1 and P2\n-- in --\n"},
		},
		"Unknown": {
			why:     "a rule that nobody can look up, wherever it is cited",
			files:   map[string]string{"door_test.go": "// HOUSE.md P1, P2\n", "a/door.go": "package a\n\n// open (HOUSE.md P9).\n", "deploy.yaml": "# HOUSE.md W2\n"},
			strange: []string{"a/door.go:3: HOUSE.md P9", "deploy.yaml:1: HOUSE.md W2"},
		},
		"OtherDocument": {
			why:     "the same id elsewhere is another rule",
			files:   map[string]string{"door_test.go": "// SHED.md P1, HOUSE.md P2\n"},
			missing: []string{"HOUSE.md P1: Doors are shut."},
		},
		"Built": {
			why:     "copies of the sources prove nothing",
			files:   map[string]string{"dist/door_test.go": "// HOUSE.md P1\n", "bin/door_test.go": "// HOUSE.md P2\n", ".git/door_test.go": "// HOUSE.md P2\n"},
			missing: []string{"HOUSE.md P1: Doors are shut.", "HOUSE.md P2: Windows too."},
		},
	}
	rules, err := parseRules("HOUSE.md", houseRules)
	require.NoError(t, err)
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range tc.files {
				require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o750))
				require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o600))
			}
			cited, err := repositoryCitations(root, documents(rules))
			require.NoError(t, err)
			assert.Equal(t, tc.missing, unproved(rules, cited), tc.why)
			assert.Equal(t, tc.strange, unknown(rules, cited), tc.why)
		})
	}
}

func TestRulesCited(t *testing.T) {
	tests := map[string]struct {
		why  string
		text string
		want string
	}{
		"One":         {why: "the plain form", text: "// as HOUSE.md P1 says", want: "P1"},
		"List":        {why: "several ids of one document", text: "// (HOUSE.md P8, P9, W1)", want: "P8 P9 W1"},
		"And":         {why: "as people write", text: "HOUSE.md V1 and V2; HOUSE.md P1, P2 and P3, P4 or P5", want: "V1 V2 P1 P2 P3 P4 P5"},
		"Range":       {why: "both ends and what is between", text: "HOUSE.md I9–I12, P1", want: "I9 I10 I11 I12 P1"},
		"Hyphen":      {why: "the same with what the keyboard has", text: "HOUSE.md P1-P3", want: "P1 P2 P3"},
		"NoRange":     {why: "nothing is invented", text: "HOUSE.md P3–P1, P1–W1", want: "P3 P1 P1 W1"},
		"Wrapped":     {why: "a comment goes on", text: "\t// what happens (HOUSE.md\n\t// P1, P2,\n\t// W1).", want: "P1 P2 W1"},
		"WrappedYAML": {why: "and in other languages", text: "# see HOUSE.md P1,\n# P2", want: "P1 P2"},
		"Code":        {why: "markdown", text: "`HOUSE.md` P1, and `HOUSE.md P2`", want: "P1 P2"},
		"Two":         {why: "each document has its own", text: "SHED.md P1, HOUSE.md P2, SHED.md P3", want: "P2"},
		"Sentence":    {why: "a sentence ends", text: "HOUSE.md V4. A2 is a paper size, P3 a letter", want: "V4"},
		"Chapter":     {why: "a document without an id is none", text: "HOUSE.md, Words and P1; HOUSE.md's P2; HOUSE.md"},
		"Numbers":     {why: "ids without a letter", text: "HOUSE.md 4: HOUSE.md 2, 3 and 5; HOUSE.md 7–9", want: "4 2 3 5 7 8 9"},
		"Mixed":       {why: "one kind does not follow the other", text: "HOUSE.md P1, 2 doors; HOUSE.md 3, P4", want: "P1 3"},
		"Bare":        {why: "a hint for the reader", text: "P1: shut (V2)"},
		"Longer":      {why: "another name, and other words", text: "MYHOUSE.md P1 HOUSE.mdx P2 HOUSE.md P1x HOUSE.md XP1 HOUSEXmd P1"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var got []string
			for _, c := range citations("a.go", tc.text, []string{"HOUSE.md"}) {
				assert.Equal(t, "HOUSE.md", c.document)
				got = append(got, c.id)
			}
			assert.Equal(t, tc.want, strings.Join(got, " "), tc.why)
		})
	}
}

func TestRulesRead(t *testing.T) {
	rules, err := parseRules("HOUSE.md", houseRules)
	require.NoError(t, err)
	assert.Equal(t, []rule{
		{ruleID{"HOUSE.md", "P1"}, "Doors are shut.", holds},
		{ruleID{"HOUSE.md", "P2"}, "Windows too.", holds},
		{ruleID{"HOUSE.md", "W1"}, "There is a roof.", next},
	}, rules)
	for rest, why := range map[string]string{
		"### P1\n\nDoors are open.":         "one rule with two meanings",
		"### P3 (maybe)\n\nDoors are open.": "an unknown state",
		"### P3\n":                          "an id is no rule",
		"### P3\n\n## Below\n\nDoors.":      "the text of a section is not its rule's",
		"### p3\n\nDoors are open.":         "an id that no citation finds",
		"#### P3\n\nDoors are open.":        "a rule on another level would be passed over",
	} {
		_, err := parseRules("HOUSE.md", houseRules+"\n"+rest+"\n")
		assert.Error(t, err, why)
	}
	_, err = parseRules("SHED.md", "# SHED.md\n")
	assert.Error(t, err, "a document whose rules are not found proves nothing")
}

// A new document is a new file: nothing else names it.
func TestRulesOfAFolder(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"README.md": "### P7\n\nAn example.\n", "HOUSE.md": houseRules, "SHED.md": "### 1\n\nTools hang.\n", "notes.md": "### P9\n\nNo document.\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	rules, err := readRules(folder)
	require.NoError(t, err)
	assert.Equal(t, []string{"HOUSE.md", "SHED.md"}, documents(rules))
	assert.Contains(t, rules, rule{ruleID{"SHED.md", "1"}, "Tools hang.", holds})
}
