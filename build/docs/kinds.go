package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// definition is the part of a CRD that a page shows.
type definition struct {
	Spec struct {
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []struct {
			Name    string   `json:"name"`
			Columns []column `json:"additionalPrinterColumns"`
			Schema  struct {
				OpenAPI property `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// column is a column of kubectl get.
type column struct {
	Name     string `json:"name"`
	JSONPath string `json:"jsonPath"`
	Priority int    `json:"priority"`
}

// property is a schema.
type property struct {
	Description string              `json:"description"`
	Type        string              `json:"type"`
	Format      string              `json:"format"`
	Default     any                 `json:"default"`
	Enum        []any               `json:"enum"`
	Minimum     *float64            `json:"minimum"`
	Maximum     *float64            `json:"maximum"`
	MaxLength   *int                `json:"maxLength"`
	MaxItems    *int                `json:"maxItems"`
	Required    []string            `json:"required"`
	Properties  map[string]property `json:"properties"`
	Items       *property           `json:"items"`
	Additional  *property           `json:"additionalProperties"`
}

// kinds writes a page for each CRD, and their list.
func (g generator) kinds() error {
	folder := filepath.Join(g.out, "deployment", "crd")
	if _, err := os.Stat(folder); err != nil {
		folder = filepath.Join(string(g.root), "deployment", "crd")
	}
	files, err := filepath.Glob(filepath.Join(folder, "orcon.tengu.io_*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("cannot find CRDs in %s: %w", folder, err)
	}
	slices.Sort(files)
	list := newPage("Kinds")
	list.prose("The kinds of `orcon.tengu.io/v1alpha1`. `kubectl explain KIND.spec` shows the same in a terminal.")
	list.table("kind", "short", "what it is")
	for _, file := range files {
		d, err := readDefinition(file)
		if err != nil {
			return err
		}
		name := strings.ToLower(d.Spec.Names.Kind)
		first, _, _ := strings.Cut(d.Spec.Versions[0].Schema.OpenAPI.Description, ". ")
		list.row(fmt.Sprintf("[%s](%s.md)", d.Spec.Names.Kind, name),
			"`"+strings.Join(d.Spec.Names.ShortNames, "`, `")+"`", strings.TrimSuffix(first, ".")+".")
		if err := g.write("kinds/"+name+".md", g.kind(d)); err != nil {
			return err
		}
	}
	return g.write("kinds/README.md", list)
}

// readDefinition reads a CRD.
func readDefinition(file string) (d definition, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return d, fmt.Errorf("cannot read a CRD: %w", err)
	}
	if err := yaml.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return d, nil
}

// kind is the page of one CRD.
func (g generator) kind(d definition) *page {
	version := d.Spec.Versions[0]
	p := newPage(d.Spec.Names.Kind)
	p.prose(version.Schema.OpenAPI.Description)
	short := ""
	if len(d.Spec.Names.ShortNames) > 0 {
		short = fmt.Sprintf(", in short `%s`", strings.Join(d.Spec.Names.ShortNames, "`, `"))
	}
	p.line("`apiVersion: orcon.tengu.io/%s`; `kubectl get %s`%s.\n", version.Name, d.Spec.Names.Plural, short)
	file := filepath.Join(string(g.root), "deployment", "examples", strings.ToLower(d.Spec.Names.Kind)+".yaml")
	if example, err := os.ReadFile(file); err == nil {
		p.line("## Example\n\n```yaml\n%s```\n", example)
	}
	for _, part := range []string{"spec", "state", "status"} {
		schema, ok := version.Schema.OpenAPI.Properties[part]
		if !ok {
			continue
		}
		p.line("## %s\n", part)
		p.table("field", "type", "meaning")
		rows(p, "", schema)
		p.line("")
	}
	columns(p, version.Columns)
	return p
}

// columns adds a row for each column of kubectl get.
func columns(p *page, all []column) {
	p.line("## Columns of kubectl get\n")
	p.table("column", "field", "")
	for _, c := range all {
		wide := ""
		if c.Priority > 0 {
			wide = "with `-o wide`"
		}
		p.row(strings.ToUpper(c.Name), "`"+c.JSONPath+"`", wide)
	}
}

// rows adds a row for each field below a schema.
func rows(p *page, path string, s property) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		f := s.Properties[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		p.row("`"+at+"`", kindOf(f), meaning(f, slices.Contains(s.Required, name)))
		switch {
		case name == "conditions": // every kind's are alike
		case f.Items != nil:
			rows(p, at+"[]", *f.Items)
		case f.Additional != nil:
			rows(p, at+".*", *f.Additional)
		default:
			rows(p, at, f)
		}
	}
}

func kindOf(f property) string {
	switch {
	case f.Items != nil && f.Items.Type != "object":
		return "list of " + f.Items.Type
	case f.Items != nil:
		return "list"
	case f.Additional != nil:
		return "map"
	case f.Format == "date-time":
		return "time"
	}
	return f.Type
}

// meaning is a field's description, and what its schema says beside it.
func meaning(f property, required bool) string {
	words := []string{f.Description}
	if required {
		words = append(words, "Required.")
	}
	if f.Default != nil {
		words = append(words, fmt.Sprintf("Default `%v`.", f.Default))
	}
	enum := f.Enum
	if f.Items != nil && enum == nil {
		enum = f.Items.Enum
	}
	if len(enum) > 0 {
		var all []string
		for _, e := range enum {
			all = append(all, fmt.Sprintf("`%v`", e))
		}
		words = append(words, "One of "+strings.Join(all, ", ")+".")
	}
	if f.MaxLength != nil {
		words = append(words, fmt.Sprintf("At most %d characters.", *f.MaxLength))
	}
	if f.MaxItems != nil {
		words = append(words, fmt.Sprintf("At most %d entries.", *f.MaxItems))
	}
	return strings.Join(words, " ")
}
