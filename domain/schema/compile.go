package schema

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// resource is the name under which the library knows the schema of a bag; it is
// absolute, so that the library does not ask for the working directory.
const resource = "orcon://interface/bag"

// nothing is a loader that loads nothing (SAFETY.md S5). A reference out of the
// document was refused before; this is the second lock.
type nothing struct{}

var errLoad = errors.New("nothing outside the document is loaded")

// Load implements jsonschema.URLLoader.
func (nothing) Load(string) (any, error) { return nil, errLoad }

// judge decides whether the keys and values of a bag fit its compiled schema.
// Each field is judged by itself: the library mixes up the places of faults in
// several values that are JSON inside a string.
type judge struct {
	fields   map[string]verdict
	patterns []patterned
	// rest judges undeclared fields; nil if anything will do.
	rest *verdict
	// closed is set where there may be no undeclared fields.
	closed bool
	// names is the cost of a look at a key.
	names load
}

type patterned struct {
	*pattern
	verdict
}

// verdict judges the value of one field.
type verdict struct {
	secret bool
	// text judges the string.
	text *jsonschema.Schema
	// json is set where the string holds JSON.
	json bool
	// content judges that JSON; nil if any will do.
	content *jsonschema.Schema
	// cost is that of judging by all of this.
	cost load
}

// compile returns the judge of a schema that passed the author's check. The error
// is the library's, for faults that the check leaves to it: for example a maxLength
// that is not a number.
func compile(schema map[string]any, secret []string) (judge, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(nothing{})
	c.UseRegexpEngine(engine)
	if err := c.AddResource(resource, schema); err != nil {
		return judge{}, err
	}
	if _, err := c.Compile(resource); err != nil {
		return judge{}, err
	}
	k := compiler{Compiler: c, scale: newScale(schema)}
	j := judge{fields: map[string]verdict{}}
	for name, field := range below(schema, "properties") {
		v := k.verdict(field, "properties", name)
		v.secret = slices.Contains(secret, name)
		j.fields[name] = v
	}
	for _, text := range slices.Sorted(maps.Keys(below(schema, "patternProperties"))) {
		p, err := compilePattern(text)
		k.err = errors.Join(k.err, err)
		j.names = j.names.add(instructions(text))
		j.patterns = append(j.patterns, patterned{p, k.verdict(below(schema, "patternProperties")[text], "patternProperties", text)})
	}
	switch rest := schema["additionalProperties"].(type) {
	case bool:
		j.closed = !rest
	case map[string]any:
		v := k.verdict(rest, "additionalProperties")
		j.rest = &v
	}
	return j, k.err
}

// compiler keeps the first errors of many small compilations.
type compiler struct {
	*jsonschema.Compiler
	scale *scale
	err   error
}

func (k *compiler) verdict(field any, at ...string) verdict {
	m, _ := field.(map[string]any)
	v := verdict{text: k.part(at...), json: m["contentMediaType"] != nil, cost: k.scale.schema(field)}
	if m["contentSchema"] != nil {
		v.content = k.part(append(at, "contentSchema")...)
	}
	return v
}

// part compiles the schema at that place.
func (k *compiler) part(at ...string) *jsonschema.Schema {
	tokens := strings.Split(pointer(at...), "/")
	for i := range tokens {
		tokens[i] = escape(tokens[i])
	}
	s, err := k.Compile(resource + "#" + strings.Join(tokens, "/"))
	k.err = errors.Join(k.err, err)
	return s
}

func below(schema map[string]any, keyword string) map[string]any {
	return asMap(schema[keyword])
}
