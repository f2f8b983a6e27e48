package tool_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

var update = flag.Bool("update", false, "write the goldens anew") //nolint:gochecknoglobals // a flag

// TestGoldens shows to the byte what each tool prints and asks for. A case is
//
//	# why it is there
//	leader | unknown | none | only UID   the world, where it is not as always
//	in KIND UNIT of UNIT …               the handler of an event of db, which these have joined
//	env NAME=VALUE                       one of the handler's variables
//	file NAME "CONTENT"                  a file, or - for standard input
//	$ tool argument …                    quoted as in Go where it must be
//	needs …                              what Needs answers, if anything
//	1| 2| o| w|                          stdout, stderr, the file, what was done
//	exit N
//
// where a line that does not end with a newline is marked by ¬.
func TestGoldens(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		for i, f := range archive.Files {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+f.Name, func(t *testing.T) {
				c := parseCase(t, string(f.Data))
				require.NotEmpty(t, c.why, "a case says why it is there")
				got := c.play()
				if *update {
					archive.Files[i].Data = []byte(got)
					return
				}
				assert.Equal(t, string(f.Data), got, c.why)
			})
		}
		if *update {
			require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o600))
		}
	}
}

type goldenCase struct {
	// head are the lines up to the calls.
	head  []string
	why   string
	world *world
	env   map[string]string
	files map[string][]byte
	calls []string
}

func parseCase(t *testing.T, text string) *goldenCase {
	t.Helper()
	c := &goldenCase{world: newWorld(), env: map[string]string{}, files: map[string][]byte{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "#":
			c.why += rest
		case "leader":
			c.world.snapshot.Leader = true
		case "unknown":
			c.world.unknown = true
		case "none":
			c.world.snapshot.Relations = nil
		case "only":
			c.world.snapshot.Relations = []conversation.Relation{*c.world.relation(rest)}
		case "in":
			c.world.membership = membership(strings.Fields(rest))
			c.env[tool.RelationID] = "db:7"
		case "env":
			name, value, _ := strings.Cut(rest, "=")
			c.env[name] = value
		case "file":
			name, quoted, _ := strings.Cut(rest, " ")
			content, err := strconv.Unquote(quoted)
			require.NoError(t, err, line)
			c.files[name] = []byte(content)
		case "$":
			c.calls = append(c.calls, rest)
			continue
		default:
			continue
		}
		c.head = append(c.head, line)
	}
	require.NotEmpty(t, c.calls)
	return c
}

// membership is that of the handler of an event, written as its kind, its unit or -, "of"
// and the units that have joined.
func membership(words []string) conversation.Membership {
	e := conversation.Event{Kind: conversation.Kind(words[0]), Relation: "uid-db"}
	if words[1] != "-" {
		u := unit(words[1])
		e.Unit = &u
	}
	joined := map[conversation.Unit]conversation.Seen{}
	for _, u := range words[3:] {
		joined[unit(u)] = conversation.Seen{}
	}
	return conversation.MembershipIn(conversation.Memory{Relations: map[string]conversation.Told{"uid-db": {Stage: conversation.Open, Members: joined}}}, e)
}

// play runs the calls one after another and writes the case down anew.
func (c *goldenCase) play() string {
	out := strings.Join(c.head, "\n") + "\n"
	for _, call := range c.calls {
		argv := split(call)
		out += "$ " + call + "\n"
		need := tool.Needs(argv[0], argv[1:])
		if len(need.Files) > 0 {
			out += fmt.Sprintf("needs %q\n", need.Files)
		}
		c.world.did = nil
		result := tool.Run(tool.Call{Name: argv[0], Args: argv[1:], Env: c.env, Files: c.files}, c.world.context())
		out += marked("1| ", result.Stdout) + marked("2| ", result.Stderr)
		if result.Output.Path != "" {
			out += fmt.Sprintf("output %q, announced as %q\n", result.Output.Path, need.Output) + marked("o| ", result.Output.Content)
		}
		for _, did := range c.world.did {
			out += "w| " + did + "\n"
		}
		out += fmt.Sprintf("exit %d\n", result.ExitCode)
	}
	return out
}

func marked(mark string, text []byte) string {
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			line += "¬\n"
		}
		out.WriteString(mark + line)
	}
	return out.String()
}

// split takes a command line apart; parts in double quotes are as in Go.
func split(line string) []string {
	var argv []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		word := ""
		for line != "" && line[0] != ' ' {
			if quoted, err := strconv.QuotedPrefix(line); err == nil && quoted[0] == '"' {
				part, _ := strconv.Unquote(quoted)
				word, line = word+part, line[len(quoted):]
				continue
			}
			word, line = word+line[:1], line[1:]
		}
		argv = append(argv, word)
	}
	return argv
}
