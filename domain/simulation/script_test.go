package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Handlers mean here what they mean to a shell.
func TestScripts(t *testing.T) {
	tests := map[string]struct {
		why, script, said string
		code              int
	}{
		"Words":       {"quotes and variables", `a="x  y"; echo "$a" '$a' $a ${b:-none} a\ b "\$a"`, "x  y $a x y none a b $a\n", 0},
		"Split":       {"what is not quoted is split", `a="1 2"; for x in $a "$a"; do echo "<$x>"; done`, "<1>\n<2>\n<1 2>\n", 0},
		"Empty":       {"an empty word that is not quoted is none", `for x in $none; do echo never; done; [ -z "$none" ] && echo empty`, "empty\n", 0},
		"Output":      {"what a command prints, without its last line ends", `a=$(echo b; echo); echo "<$a>"`, "<b>\n", 0},
		"OutputCode":  {"and how it ended", `a=$(false) || echo failed`, "failed\n", 0},
		"Nested":      {"one in another", `echo $(echo $(echo deep))`, "deep\n", 0},
		"And":         {"both, or the second instead", `true && echo a || echo b; false && echo c || echo d`, "a\nd\n", 0},
		"Not":         {"the other way round", `! false && echo yes; ! true || echo no; ! true`, "yes\nno\n", 1},
		"If":          {"the first that holds", `if false; then echo a; elif [ 1 = 1 ]; then echo b; else echo c; fi`, "b\n", 0},
		"Else":        {"none holds", "if [ a != a ]\nthen\n  echo a\nelse\n  echo c\nfi", "c\n", 0},
		"IfNone":      {"nothing to do is no failure", `if false; then echo a; fi`, "", 0},
		"Exit":        {"the end, with a code", `echo a; exit 3; echo b`, "a\n", 3},
		"ExitInLoop":  {"also from within", `for x in 1 2; do [ $x = 1 ] || exit 4; done; echo b`, "", 4},
		"Last":        {"the code is the last command's", `false; true`, "", 0},
		"Strict":      {"set -e ends at a failure", `set -e; echo a; false; echo b`, "a\n", 1},
		"StrictAsked": {"but not where it is asked for", `set -e; false || echo a; if false; then echo b; fi; [ 1 = 2 ] && echo c; echo d`, "a\nd\n", 0},
		"Comments":    {"are for readers", "#!/bin/sh\n# nothing\necho a # b\n", "a\n", 0},
		"Continued":   {"a line goes on", "echo a \\\n  b", "a b\n", 0},
		"Stderr":      {"is what it says too", `echo a >&2; echo b >/dev/null`, "a\n", 0},
		"Tool":        {"no tool of that name", `relation-lst`, "relation-lst: not found; did you mean relation-list?\n", 127},
		"Pipe":        {"more of a shell than there is", `echo a | cat`, `cannot read the handler: "|" is not known here; use tools, variables, $( ), [ ], if, for, && and ||`, 2},
		"Open":        {"a quote without end", `echo "a`, "cannot read the handler: a quote is not closed", 2},
		"OpenIf":      {"an if without end", `if true; then echo a`, `cannot read the handler: "fi" is missing`, 2},
		"Alone":       {"a word out of place", `done`, `cannot read the handler: "done" stands alone`, 2},
		"Long":        {"a value without end", `v=0123456789abcdef; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do v=$v$v; done; echo $v`, "v is too long\n", 2},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, said := newWorld(Scenario{}, nil).runScript(tc.script, &caller{env: map[string]string{}})
			assert.Equal(t, tc.code, code, tc.why)
			assert.Equal(t, tc.said, said, tc.why)
		})
	}
}

// Whatever stands in a handler is read or refused.
func FuzzScript(f *testing.F) {
	for _, text := range []string{"a=$(b \"$c\") && d || e", "if a; then b; else c; fi", "for x in $y; do z; done", "'", "$(", "${", "! !", "a\\"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseScript(text); err != nil {
			require.ErrorIs(t, err, errScript)
		}
	})
}
