package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Parse reads an interface's document. It returns all problems at once, in order of path; with any of them the
// Interface is the zero one, for half an interface would promise checks that do not exist.
func Parse(text []byte) (Interface, []Problem) {
	p := parser{reader: &reader{}}
	p.parse(p.document(text))
	if len(p.problems) == 0 {
		return p.parsed, nil
	}
	slices.SortFunc(p.problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Reason, b.Reason))
	})
	return Interface{}, slices.Compact(p.problems)
}

type parser struct {
	*reader
	parsed Interface
}

func (p *parser) parse(document map[string]any) {
	if len(p.problems) > 0 {
		return // the rest would be problems of the reading, not of the document
	}
	p.fields("", document, "name", "version", "description", "provider", "requirer", "both")
	i := &p.parsed
	i.Name = p.text("name", document["name"])
	if reason, cure := application.CheckInterface(i.Name); reason != "" {
		p.refuse("name", reason, cure)
	}
	i.Version = p.version(document["version"])
	if i.Description = p.text("description", document["description"]); strings.TrimSpace(i.Description) == "" {
		p.refuse("description", "the interface is not documented", "say for people what it is for")
	}
	if both, there := document["both"]; there {
		if document["provider"] != nil || document["requirer"] != nil {
			p.refuse("both", "it stands in place of provider and requirer", "keep one way of saying it")
		}
		p.side("both", both, ProviderApplication)
		i.Bags[RequirerApplication], i.Bags[RequirerUnit] = i.Bags[ProviderApplication], i.Bags[ProviderUnit]
		return
	}
	p.side("provider", document["provider"], ProviderApplication)
	p.side("requirer", document["requirer"], RequirerApplication)
}

// maxVersion is the highest version that a declaration can name.
const maxVersion = 1 << 20

func (p *parser) version(v any) int {
	n, err := strconv.Atoi(fmt.Sprint(v))
	if err != nil || n < 1 || n > maxVersion {
		p.refuse("version", "a version is a whole number from 1", "write version: 1")
	}
	return n
}

// side reads the two bags of one side.
func (p *parser) side(path string, v any, place Place) {
	if v == nil {
		return
	}
	m := p.mapOf(path, v, "application", "unit")
	for offset, name := range []string{"application", "unit"} {
		if below, there := m[name]; there {
			p.parsed.Bags[place+Place(offset)] = p.bag(join(path, name), below, place+Place(offset))
		}
	}
}

func (p *parser) bag(path string, v any, place Place) Bag {
	m := p.mapOf(path, v, "ready", "secret", "schema", "examples")
	schema, ok := m["schema"].(map[string]any)
	if !ok {
		p.refuse(join(path, "schema"), "it is not a map", "write type: object and properties")
		return Bag{}
	}
	b := Bag{source: schema, ready: p.list(join(path, "ready"), m["ready"]), secret: p.list(join(path, "secret"), m["secret"])}
	b.Description, _ = schema["description"].(string)
	p.known(join(path, "ready"), b.ready, schema)
	p.known(join(path, "secret"), b.secret, schema)
	if !p.compiled(join(path, "schema"), &b) {
		return Bag{}
	}
	for _, name := range slices.Sorted(maps.Keys(b.judge.fields)) {
		b.Fields = append(b.Fields, b.field(name))
	}
	b.Examples = p.examples(join(path, "examples"), m["examples"], b, place)
	return b
}

// compiled gives the bag its judge, if the schema is right.
func (p *parser) compiled(path string, b *Bag) bool {
	before := len(p.problems)
	a := author{reader: p.reader}
	a.bag(path, b.source, b.secret)
	if len(p.problems) == before {
		a.weigh(path, b.source)
	}
	if len(p.problems) > before {
		return false
	}
	var err error
	if b.judge, err = compile(b.source, b.secret); err != nil {
		p.uncompiled(path, err)
	}
	return err == nil
}

// uncompiled tells what the library has against a schema.
func (p *parser) uncompiled(path string, err error) {
	var wrong *jsonschema.SchemaValidationError
	if !errors.As(err, &wrong) {
		p.refuse(path, "it cannot be compiled: "+err.Error(), "")
		return
	}
	for _, v := range inOrder(violations(path, wrong.Err)) {
		p.refuse(v.Path, v.Reason, v.Expected)
	}
}

func (b Bag) field(name string) Field {
	m, _ := below(b.source, "properties")[name].(map[string]any)
	description, _ := m["description"].(string)
	deprecated, _ := m["deprecated"].(bool)
	return Field{
		Name: name, Description: strings.TrimSpace(description), Deprecated: deprecated,
		Ready: slices.Contains(b.ready, name), Secret: slices.Contains(b.secret, name), JSON: b.judge.fields[name].json,
	}
}

// known checks that listed fields are declared.
func (p *parser) known(path string, names []string, schema map[string]any) {
	for i, name := range names {
		if _, ok := below(schema, "properties")[name]; !ok {
			p.refuse(path, fmt.Sprintf("the schema has no field %q", name), "declare it under properties")
		}
		if slices.Contains(names[:i], name) {
			p.refuse(path, fmt.Sprintf("the field %q is there twice", name), "keep one")
		}
	}
}

// examples reads example bags; each must fit.
func (p *parser) examples(path string, v any, b Bag, place Place) []map[string]string {
	list, ok := v.([]any)
	if !ok && v != nil {
		p.refuse(path, "it is not a list of bags", "")
	}
	var all []map[string]string
	for i, item := range list {
		below := join(path, strconv.Itoa(i))
		bag := p.example(below, item)
		for _, v := range b.check(place, bag) {
			p.refuse(below+"/"+v.Path, "the example does not fit: "+v.Reason, v.Expected)
		}
		all = append(all, bag)
	}
	return all
}

func (p *parser) example(path string, v any) map[string]string {
	bag := map[string]string{}
	for name, value := range p.mapOf(path, v) {
		switch value.(type) {
		case []any, map[string]any, nil:
			p.refuse(join(path, name), "a bag holds strings", "quote it as JSON in a string")
		default:
			bag[name] = fmt.Sprint(value)
		}
	}
	return bag
}

// mapOf returns v as a map that has these fields only; any if none is named.
func (p *parser) mapOf(path string, v any, fields ...string) map[string]any {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		p.refuse(path, "it is not a map", "")
	}
	if len(fields) > 0 {
		p.fields(path, m, fields...)
	}
	return m
}

func (p *parser) fields(path string, m map[string]any, fields ...string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(fields, name) {
			p.refuse(join(path, name), "there is no such field here", "write one of "+strings.Join(fields, ", "))
		}
	}
}

func (p *parser) text(path string, v any) string {
	text, ok := v.(string)
	if !ok && v != nil {
		p.refuse(path, "it is not text", "quote it")
	}
	return text
}

func (p *parser) list(path string, v any) []string {
	items, ok := v.([]any)
	if !ok && v != nil {
		p.refuse(path, "it is not a list of fields", "write for example [password, username]")
	}
	var all []string
	for i, item := range items {
		all = append(all, p.text(join(path, strconv.Itoa(i)), item))
	}
	return all
}
