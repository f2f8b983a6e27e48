package tool_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// The list that the agent makes its links from is that of RELATIONS.md.
func TestNames(t *testing.T) {
	assert.Equal(t, []string{
		"goal-state", "is-leader", "network-get", "relation-get", "relation-ids", "relation-list", "relation-model-get", "relation-set",
		"secret-add", "secret-get", "secret-grant", "secret-ids", "secret-info-get", "secret-remove", "secret-revoke", "secret-set",
		"status-get", "status-set",
	}, tool.Names())
	assert.True(t, tool.Is("/opt/orcon/relation-get"), "a link is known by its last part")
	assert.False(t, tool.Is("relation-agent"), "the agent is no tool")
	assert.Equal(t, []string{"JUJU_RELATION_ID", "JUJU_REMOTE_UNIT", "JUJU_REMOTE_APP", "JUJU_CONTEXT_ID"}, tool.Variables())
}

// Each tool has a text that begins with its name, names its flags and shows
// examples that work.
func TestHelp(t *testing.T) {
	entries, err := os.ReadDir("help")
	require.NoError(t, err)
	assert.Len(t, entries, len(tool.Names()), "no text is left of a tool that is gone")
	for _, name := range tool.Names() {
		t.Run(name, func(t *testing.T) {
			result := tool.Run(tool.Call{Name: name, Args: []string{"--help"}}, tool.Context{})
			text := string(result.Stdout)
			require.Zero(t, result.ExitCode)
			assert.True(t, strings.HasPrefix(text, "Usage: "+name+" [options]"), text)
			for _, part := range []string{"\nSummary:\n", "\nOptions:\n  ", "\nExamples:\n    $ " + name} {
				assert.Contains(t, text, part)
			}
			short := tool.Run(tool.Call{Name: name, Args: []string{"-h"}}, tool.Context{})
			assert.Equal(t, result, short, "-h is --help")
			for line := range strings.Lines(text) {
				assert.LessOrEqual(t, len(line), 140, line)
				call, example := strings.CutPrefix(strings.TrimSpace(line), "$ ")
				if !example || strings.Contains(call, "|") {
					continue
				}
				assertExample(t, call)
			}
		})
	}
}

// assertExample runs an example as the leader of a unit with one relation, in a
// handler of it.
func assertExample(t *testing.T, call string) {
	t.Helper()
	w := newWorld()
	w.snapshot.Leader = true
	w.snapshot.Relations = []conversation.Relation{*w.relation("uid-db")}
	argv := split(call)
	c := tool.Call{Name: argv[0], Args: argv[1:], Env: map[string]string{"JUJU_RELATION_ID": "db:7", "JUJU_REMOTE_UNIT": "pg/0"}, Files: map[string][]byte{}}
	for _, file := range tool.Needs(c.Name, c.Args).Files {
		c.Files[file] = []byte("s3cret")
	}
	result := tool.Run(c, w.context())
	assert.Zero(t, result.ExitCode, "%s\n%s", call, result.Stderr)
}

// What a call needs is known without a context, and a call that is wrong needs
// nothing: no file is read for it.
func TestNeeds(t *testing.T) {
	tests := map[string]struct {
		why  string
		argv string
		want tool.Need
	}{
		"Nothing":     {why: "most calls need nothing", argv: "relation-get -r db:7 - pg/0"},
		"Output":      {why: "the client may look whether it can write", argv: "relation-get -o out host", want: tool.Need{Output: "out"}},
		"OutputLong":  {why: "the long flag is the same", argv: "goal-state --output=out", want: tool.Need{Output: "out"}},
		"Stdin":       {why: "- is standard input", argv: "relation-set --file -", want: tool.Need{Files: []string{"-"}}},
		"StdinOpen":   {why: "a key called - asks for nothing", argv: "relation-get - pg/0"},
		"File":        {why: "a file as it was written", argv: "relation-set --file ../a=b.yaml x=y", want: tool.Need{Files: []string{"../a=b.yaml"}}},
		"SecretFiles": {why: "all files, each once, in order", argv: "secret-set secret:9m4e2mr0ui3e8a215n4g --file all.yaml one#file=a two#file=b three#file=a", want: tool.Need{Files: []string{"all.yaml", "a", "b"}}},
		"SecretValue": {why: "a value is no path", argv: "secret-add one=a two#base64=AAAA"},
		"WrongFlag":   {why: "a wrong call needs nothing", argv: "relation-set --file - --frmat x"},
		"WrongKey":    {why: "a wrong call needs nothing", argv: "secret-add one#file=/etc/shadow BAD=x"},
		"Help":        {why: "help needs nothing", argv: "secret-add --file - --help"},
		"Unknown":     {why: "no tool needs nothing", argv: "relation-gett --file -"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			argv := split(tc.argv)
			assert.Equal(t, tc.want, tool.Needs(argv[0], argv[1:]), tc.why)
		})
	}
}

// RELATIONS.md P4: the kind comes first, whatever an error was wrapped in.
func TestFailed(t *testing.T) {
	gone := &conversation.Error{Kind: conversation.Gone, Message: "it has ended", Cure: "relate again"}
	tests := map[string]struct {
		why  string
		in   error
		want string
	}{
		"Kind":    {why: "kind, reason and cure", in: gone, want: "ERROR gone: it has ended; relate again\n"},
		"Wrapped": {why: "the kind comes first", in: fmt.Errorf("cannot read db:7: %w", gone), want: "ERROR gone: cannot read db:7: it has ended; relate again\n"},
		"Other":   {why: "an error of no kind", in: errors.New("cannot reach the agent"), want: "ERROR cannot reach the agent\n"},
		"Lines":   {why: "several errors are one line, for whoever reads by line", in: errors.Join(gone, errors.New("and\r\nmore")), want: "ERROR gone: it has ended; relate again and  more\n"},
		"Unseen":  {why: "nobody's key steers a terminal", in: errors.New("cannot write \x1b[2J\xff"), want: "ERROR cannot write  [2J\ufffd\n"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			result := tool.Failed(tc.in)
			assert.Equal(t, tc.want, string(result.Stderr), tc.why)
			assert.Equal(t, 1, result.ExitCode, "nothing was called wrongly")
			assert.Empty(t, result.Stdout)
		})
	}
}

func TestParseSecretID(t *testing.T) {
	const model, id = "6f2f1a0e-3a5d-4b0e-9a5e-0c9d5f9a7f10", "9m4e2mr0ui3e8a215n4g"
	tests := map[string]struct {
		why  string
		text string
		want tool.SecretID
		bad  bool
	}{
		"Text":      {why: "as secret-add prints it", text: "secret:" + id, want: tool.SecretID{ID: id}},
		"Bare":      {why: "as secret-ids prints it", text: id, want: tool.SecretID{ID: id}},
		"Foreign":   {why: "with the namespace that it lives in", text: "secret://" + model + "/" + id, want: tool.SecretID{Model: model, ID: id}},
		"Empty":     {why: "nothing", text: "", bad: true},
		"Short":     {why: "a label is no ID", text: "secret:db", bad: true},
		"Long":      {why: "one letter more", text: "secret:" + id + "x", bad: true},
		"UpperCase": {why: "IDs are lower case", text: "secret:" + strings.ToUpper(id), bad: true},
		"Lines":     {why: "nothing may follow, a new line neither", text: "secret:" + id + "\n", bad: true},
		"Path":      {why: "an ID is no path", text: "secret://" + model + "/../" + id, bad: true},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got, err := tool.ParseSecretID(tc.text)
			if tc.bad {
				require.Error(t, err, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.want, got, tc.why)
			again, err := tool.ParseSecretID(got.String())
			require.NoError(t, err)
			assert.Equal(t, got, again, "what is printed is read")
		})
	}
}

// A secret is at most a million bytes of base64, in all.
func TestSecretSize(t *testing.T) {
	half := []byte(strings.Repeat("x", 375_000)) // 500,000 in base64
	tests := map[string]struct {
		why   string
		files map[string][]byte
		code  int
	}{
		"Largest":  {why: "the limit is allowed", files: map[string][]byte{"a": half, "b": half}},
		"TooLarge": {why: "all values count together", files: map[string][]byte{"a": half, "b": append([]byte("y"), half...)}, code: 1},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			w := newWorld()
			result := tool.Run(tool.Call{Name: "secret-add", Args: []string{"one#file=a", "two#file=b"}, Files: tc.files}, w.context())
			assert.Equal(t, tc.code, result.ExitCode, tc.why)
			assert.Equal(t, tc.code == 0, len(w.did) == 1, "nothing is stored of what is refused")
			assert.NotContains(t, string(result.Stderr), "xxx")
		})
	}
}
