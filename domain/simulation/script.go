package simulation

import (
	"fmt"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// caller runs tools: a handler in its turn, or a person in the unit's pod.
type caller struct {
	world *world
	agent *agent
	turn  *tool.Turn
	env   map[string]string
}

// shell runs a script: a small part of the POSIX shell, so that what runs here runs
// in a handler's container too.
type shell struct {
	*caller
	out, err strings.Builder
	// strict is set -e; ended that exit was called.
	strict, ended bool
	// judged is set while the code of a command decides about another one.
	judged bool
	code   int
	output string
}

// runScript runs a script and returns its exit code and all that it printed.
func (w *world) runScript(text string, c *caller) (code int, said string) {
	commands, err := parseScript(text)
	if err != nil {
		return exitMisuse, err.Error()
	}
	s := &shell{caller: c}
	s.list(commands)
	return s.code, s.out.String() + s.err.String()
}

func (s *shell) list(commands []command) {
	for _, c := range commands {
		if s.run(c); s.ended || s.strict && !s.judged && s.code != 0 {
			s.ended = true
			return
		}
	}
}

func (s *shell) run(c command) {
	switch c := c.(type) {
	case simple:
		s.call(c.words)
	case negated:
		s.judge(c.of)
		s.code = map[bool]int{true: 1, false: 0}[s.code == 0]
	case chain:
		s.judge(c.left)
		if !s.ended && (s.code == 0) == (c.operator == "&&") {
			s.run(c.right)
		} else if s.code != 0 && s.strict && !s.judged {
			s.code = 0 // what did not run ends nothing
		}
	case choice:
		s.judgeAll(c.when)
		switch {
		case s.ended:
		case s.code == 0:
			s.list(c.then)
		default:
			s.code = 0
			s.list(c.otherwise)
		}
	case loop:
		s.repeat(c)
	}
}

func (s *shell) judge(c command) { s.judgeAll([]command{c}) }

func (s *shell) judgeAll(commands []command) {
	before := s.judged
	s.judged = true
	s.list(commands)
	s.judged = before
}

func (s *shell) repeat(l loop) {
	s.code = 0
	for _, value := range s.expandAll(l.over) {
		if s.env[l.name] = value; s.ended {
			return
		}
		s.list(l.body)
	}
}

// call runs one command.
func (s *shell) call(words []word) {
	if name, value, ok := assignment(words); ok {
		s.code = 0
		if s.env[name] = strings.Join(s.expand(value, false), ""); len(s.env[name]) > longestValue {
			s.env[name], s.ended, s.code = "", true, exitMisuse
			s.err.WriteString(name + " is too long\n")
		}
		return
	}
	args := s.redirect(s.expandAll(words))
	if len(args) == 0 {
		s.code = 0
		return
	}
	if !s.builtin(args) {
		s.tool(args)
	}
}

// longestValue is how long the value of a variable may be, in bytes: more than a bag
// may hold, and less than hurts.
const longestValue = 1 << 20

// The exit codes of a shell that cannot go on.
const (
	exitMisuse  = 2
	exitUnknown = 127
)

// nameBytes are the bytes of names of variables.
const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

// assignment splits name=value.
func assignment(words []word) (name string, value word, ok bool) {
	if len(words) != 1 || len(words[0]) == 0 || words[0][0].quoted || words[0][0].variable != "" {
		return "", nil, false
	}
	name, rest, found := strings.Cut(words[0][0].text, "=")
	if !found || name == "" || strings.Trim(name, nameBytes) != "" {
		return "", nil, false
	}
	return name, append(word{{text: rest}}, words[0][1:]...), true
}

// redirect takes the few redirections out that handlers use.
func (s *shell) redirect(args []string) []string {
	s.output = ""
	var kept []string
	for _, arg := range args {
		switch arg {
		case ">&2", "1>&2":
			s.output = "err"
		case ">/dev/null", "2>/dev/null", "2>&1":
			s.output = "null"
		default:
			kept = append(kept, arg)
		}
	}
	return kept
}

func (s *shell) print(text string) {
	switch s.output {
	case "err":
		s.err.WriteString(text)
	case "":
		s.out.WriteString(text)
	}
}

// builtin runs a command that is not a tool.
func (s *shell) builtin(args []string) bool {
	s.code = 0
	switch args[0] {
	case "true", ":":
	case "false":
		s.code = 1
	case "echo":
		s.print(strings.Join(args[1:], " ") + "\n")
	case "set":
		s.strict = s.strict || len(args) > 1 && strings.HasPrefix(args[1], "-") && strings.Contains(args[1], "e")
	case "exit":
		s.ended = true
		if len(args) > 1 {
			s.code, _ = strconv.Atoi(args[1])
		}
	case "[", "test":
		s.code = check(args)
	default:
		return false
	}
	return true
}

// check is the test command.
func check(args []string) int {
	words := args[1:]
	if args[0] == "[" && len(words) > 0 && words[len(words)-1] == "]" {
		words = words[:len(words)-1]
	}
	not := len(words) > 0 && words[0] == "!"
	if not {
		words = words[1:]
	}
	holds := false
	switch {
	case len(words) == 3 && words[1] == "=":
		holds = words[0] == words[2]
	case len(words) == 3 && words[1] == "!=":
		holds = words[0] != words[2]
	case len(words) == 2 && words[0] == "-z":
		holds = words[1] == ""
	case len(words) == 2 && words[0] == "-n":
		holds = words[1] != ""
	case len(words) == 1:
		holds = words[0] != ""
	case len(words) > 0:
		return exitMisuse
	}
	if holds == not {
		return 1
	}
	return 0
}

// tool runs a tool.
func (s *shell) tool(args []string) {
	if !tool.Is(args[0]) {
		s.code = exitUnknown
		fmt.Fprintf(&s.err, "%s: not found%s\n", args[0], suggestion(args[0], tool.Names()))
		return
	}
	result := s.runTool(tool.Call{Name: args[0], Args: args[1:]})
	s.code = result.ExitCode
	s.print(string(result.Stdout))
	if s.output != "null" {
		s.err.Write(result.Stderr)
	}
}

func (s *shell) expandAll(words []word) []string {
	var all []string
	for _, w := range words {
		all = append(all, s.expand(w, true)...)
	}
	return all
}

// expand turns a word into the words that it stands for: several, or none, where
// something that is not quoted stands for that.
func (s *shell) expand(w word, split bool) []string {
	var all []string
	open := false
	add := func(text string) {
		if !open {
			all, open = append(all, ""), true
		}
		all[len(all)-1] += text
	}
	for _, p := range w {
		text := s.value(p)
		if p.quoted || !split || p.variable == "" && !p.isScript {
			add(text)
			continue
		}
		for i, field := range strings.Fields(text) {
			if i > 0 {
				open = false
			}
			add(field)
		}
	}
	return all
}

// value returns the value of a part.
func (s *shell) value(p part) string {
	switch {
	case p.isScript:
		commands, err := parseScript(p.script)
		if err != nil {
			s.err.WriteString(err.Error() + "\n")
			s.code = exitMisuse
			return ""
		}
		inner := &shell{caller: s.caller}
		inner.list(commands)
		s.err.WriteString(inner.err.String())
		s.code = inner.code
		return strings.TrimRight(inner.out.String(), "\n")
	case p.variable != "":
		if value := s.env[p.variable]; value != "" {
			return value
		}
		return p.otherwise
	default:
		return p.text
	}
}
