package injection

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Variable is an environment variable that a consumer's containers get, and
// where its value comes from.
type Variable struct {
	// Name matches [A-Z_][A-Z0-9_]* and is not a refused one.
	Name string
	// Endpoint is the consumer's endpoint.
	Endpoint string
	// Key is the key of the endpoint's databag that holds the value.
	Key string
	// Interface is set on the one variable that the prototype had: named after
	// the interface, holding the host (Key is then host).
	Interface bool
	// Asked is set where tengu.io/env names the key: then it may also be of a Secret
	// that is granted (SAFETY.md P7).
	Asked bool
}

// The limits of a value that may be a variable, in bytes (SAFETY.md P9).
const (
	// MaxEnvValue is the longest value.
	MaxEnvValue = 32 << 10
	// MaxEnvTotal is the most that the names and values of one pod take together.
	MaxEnvTotal = 128 << 10
)

// derivedKeys are the keys that every endpoint gives as variables
// (RELATIONS.md, Declarations).
func derivedKeys() []string { return []string{"host", "port", "ports", "url"} }

// Fields returns the keys, in order, that the interface of a consumer's endpoint has for
// what its provider says, but for secrets.
type Fields func(application.Endpoint) []string

// Of returns the keys of each endpoint whose interface has some beyond those that every
// endpoint gives, at most as many as a list may have. A nil Fields knows no interface.
func (f Fields) Of(consumes []application.Endpoint) map[string][]string {
	if f == nil {
		return nil
	}
	all, size := map[string][]string{}, 0
	for _, e := range consumes {
		given := func(key string) bool { return slices.Contains(derivedKeys(), key) }
		keys := slices.DeleteFunc(slices.Clone(f(e)), given)
		keys = keys[:min(len(keys), application.MaxEntries)]
		text := len(namedFields(e.Name, keys)) + len(";")
		if len(keys) > 0 && size+text <= application.MaxList {
			all[e.Name] = keys
			size += text
		}
	}
	return all
}

// namedFields returns keys of an endpoint as tengu.io/env would ask for them.
func namedFields(endpoint string, keys []string) string {
	return endpoint + "=" + strings.Join(keys, ",")
}

// Variables returns the variables of a consumer, in order of its endpoints: for
// each the one named after its interface, the derived ones, the fields of its interface and
// those asked for by tengu.io/env. The names depend on what the consumer declares alone,
// never on what a provider writes (SAFETY.md P7). A name that is refused (P8) or that
// two keys would share (P9) is in none of them but in a problem: a warning
// unless tengu.io/env asked for it.
func Variables(consumes []application.Endpoint, fields, env map[string][]string) ([]Variable, []application.Problem) {
	most := 5 * len(consumes)
	c := chooser{first: make(map[string]int, most), candidates: make([]candidate, 0, most)}
	for _, e := range consumes {
		if e.Role != application.Requirer && e.Role != "" {
			continue
		}
		c.add(Variable{Name: EnvName(e.Interface), Endpoint: e.Name, Key: "host", Interface: true}, false)
		for _, key := range derivedKeys() {
			c.add(variable(e.Name, key), false)
		}
		for _, key := range fields[e.Name] {
			c.add(variable(e.Name, key), false)
		}
		for _, key := range env[e.Name] {
			c.add(variable(e.Name, key), true)
		}
	}
	return c.chosen()
}

func variable(endpoint, key string) Variable {
	return Variable{Name: EnvName(endpoint) + "_" + EnvName(key), Endpoint: endpoint, Key: key}
}

// EnvName turns an endpoint, an interface or a key into the part of a
// variable's name: upper case, with '_' for every character outside [A-Z0-9_].
func EnvName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		default:
			return '_'
		}
	}, text)
}

// chooser collects candidates and finds the names that collide.
type chooser struct {
	candidates []candidate
	first      map[string]int
}

type candidate struct {
	Variable
	asked bool
	clash bool // on the first of a name
	later bool // not the first of its name
}

func (c *chooser) add(v Variable, asked bool) {
	i, taken := c.first[v.Name]
	if taken && c.candidates[i].Endpoint == v.Endpoint && c.candidates[i].Key == v.Key {
		c.candidates[i].asked = c.candidates[i].asked || asked
		return
	}
	if taken {
		c.candidates[i].clash = true
	} else {
		c.first[v.Name] = len(c.candidates)
	}
	c.candidates = append(c.candidates, candidate{Variable: v, asked: asked, later: taken})
}

// chosen splits the candidates into variables and problems.
func (c *chooser) chosen() ([]Variable, []application.Problem) {
	var (
		variables = make([]Variable, 0, len(c.candidates))
		problems  []application.Problem
	)
	for _, v := range c.candidates {
		switch {
		case v.later:
		case v.clash:
			problems = append(problems, c.clashProblem(v.Name))
		case refused(v.Name):
			problems = append(problems, refusedProblem(v))
		default:
			v.Asked = v.asked
			variables = append(variables, v.Variable)
		}
	}
	return variables, problems
}

// clashProblem names everything that would have had the name: choosing one of
// them would make its value depend on the order of a list.
func (c *chooser) clashProblem(name string) application.Problem {
	var (
		sources []string
		asked   bool
	)
	for _, v := range c.candidates {
		if v.Name == name {
			sources = append(sources, v.source())
			asked = asked || v.asked
		}
	}
	return application.Problem{
		Key: keyOf(asked), Entry: name, Warning: !asked,
		Reason: "the variable would be both " + strings.Join(sources, " and ") + ", so it is neither",
		Cure:   "read the files, or name the endpoints otherwise",
	}
}

func refusedProblem(v candidate) application.Problem {
	return application.Problem{
		Key: keyOf(v.asked), Entry: v.Name, Warning: !v.asked,
		Reason: fmt.Sprintf("a variable of that name steers the shell, the loader or a tool and is never set from relation data (%s)", v.source()),
		Cure:   "read the file " + v.Endpoint + "/" + v.Key + " instead",
	}
}

func (v candidate) source() string {
	if v.Interface {
		return "the interface of " + v.Endpoint
	}
	return v.Key + " of " + v.Endpoint
}

func keyOf(asked bool) string {
	if asked {
		return application.KeyEnv
	}
	return application.KeyConsumes
}

// EnvValue reports whether a value may be a variable, else why it is in the
// files only (SAFETY.md P9). The limits are those of the file that the kubelet
// reads: single-quoted text without escapes, read line by line, whose reader
// drops a carriage return before a new line and takes an empty value for none.
func EnvValue(value string) (reason string, ok bool) {
	switch {
	case value == "":
		return "it is empty", false
	case len(value) > MaxEnvValue:
		return fmt.Sprintf("it is longer than %d bytes", MaxEnvValue), false
	case strings.ContainsRune(value, '\''):
		return "it contains a single quote", false
	case strings.ContainsAny(value, "\x00\r"):
		return "it contains a NUL or a carriage return", false
	case !utf8.ValidString(value):
		return "it is not UTF-8", false
	default:
		return "", true
	}
}
