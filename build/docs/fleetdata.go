package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/schema"
)

// jsonSchema is the part of a JSON Schema that a page shows.
type jsonSchema struct {
	restriction

	Title       string                `json:"title"`
	Description string                `json:"description"`
	Type        any                   `json:"type"`
	Required    []string              `json:"required"`
	Ref         string                `json:"$ref"`
	Items       *jsonSchema           `json:"items"`
	Properties  map[string]jsonSchema `json:"properties"`
	OneOf       []jsonSchema          `json:"oneOf"`
	Defs        map[string]jsonSchema `json:"$defs"`
	// Additional is false, or describes fields of other names.
	Additional json.RawMessage `json:"additionalProperties"`
}

// restriction lists the values that a field may have.
type restriction struct {
	Const   string          `json:"const"`
	Enum    []string        `json:"enum"`
	Default json.RawMessage `json:"default"`
	Minimum *int            `json:"minimum"`
	Maximum *int            `json:"maximum"`
}

// fleetData writes the page about the data files of a fleet.
func (g generator) fleetData() error {
	p := newPage("Data of a fleet")
	p.prose("The fields of the data files that an [IntegrationSet](kinds/integrationset.md) reads. Files of other schemas are " +
		"ignored. `orcon fleet schema KIND` prints these rules as a JSON Schema, for editors: [Run a fleet](../how-to/run-a-fleet.md). " +
		"A reference is written {$ref: PATH}, with the path of a file of the data.")
	names := schema.Names()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	for _, name := range names {
		text, _ := schema.Find(name) // it is in the list
		var s jsonSchema
		if err := json.Unmarshal(text, &s); err != nil {
			return fmt.Errorf("cannot read schema %s: %w", name, err)
		}
		p.line("## %s\n", s.Title)
		p.line("`$schema: %s`, kind `%s`.\n", s.Properties["$schema"].Const, name)
		p.prose(s.Description)
		fields(p, s)
		for _, name := range slices.Sorted(maps.Keys(s.Defs)) {
			p.line("### %s\n", name)
			p.prose(cmp.Or(s.Defs[name].Description, "Quantities of Kubernetes."))
			fields(p, s.Defs[name])
		}
	}
	return g.write("fleet-data.md", p)
}

// rank puts integrations first.
func rank(name string) int {
	if name == "integration-1" {
		return 0
	}
	return 1
}

// fields adds a table of the fields of a schema, or one for each of its forms.
func fields(p *page, s jsonSchema) {
	for i, form := range s.OneOf {
		if i > 0 {
			p.line("Or:\n")
		}
		fields(p, form)
	}
	if len(s.OneOf) > 0 {
		return
	}
	p.table("field", "type", "default", "meaning")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		f := s.Properties[name]
		p.row("`"+name+"`", f.kind(), f.standard(), f.meaning(slices.Contains(s.Required, name)))
		if f.kind() != "object" {
			continue
		}
		for _, below := range slices.Sorted(maps.Keys(f.Properties)) {
			part := f.Properties[below]
			p.row("`"+name+"."+below+"`", part.kind(), part.standard(), part.meaning(false))
		}
	}
	var other jsonSchema
	if json.Unmarshal(s.Additional, &other) == nil && other.Description != "" {
		p.row("others", "any", "", other.Description)
	}
	p.line("")
}

// meaning describes a field and the values that it may have.
func (s jsonSchema) meaning(required bool) string {
	meaning := s.Description
	if required {
		meaning += " Required."
	}
	if len(s.Enum) > 0 {
		meaning += " One of `" + strings.Join(s.Enum, "`, `") + "`."
	}
	if s.Minimum != nil && s.Maximum != nil {
		meaning += fmt.Sprintf(" From %d to %d.", *s.Minimum, *s.Maximum)
	}
	return meaning
}

// standard returns the default of a field, as it is written in a table.
func (s jsonSchema) standard() string {
	if len(s.Default) == 0 {
		return ""
	}
	return "`" + strings.Trim(string(s.Default), `"`) + "`"
}

// kind describes the type of a field.
func (s jsonSchema) kind() string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	case s.Const != "":
		return "string"
	case s.Items != nil:
		return "list of " + s.Items.kind()
	case s.Properties["$ref"].Type != nil:
		return "reference"
	}
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		var all []string
		for _, one := range t {
			all = append(all, fmt.Sprint(one))
		}
		return strings.Join(all, " or ")
	default:
		return "any"
	}
}
