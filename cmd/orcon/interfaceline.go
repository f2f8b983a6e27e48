package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// interfaceLine is one interface as the command lists it.
type interfaceLine struct {
	Name        string `json:"name"`
	Version     int    `json:"version"`
	From        string `json:"from"`
	Description string `json:"description"`
	// Bags are its bags, by place: provider/application. They are left out of a list.
	Bags map[string]bagLine `json:"bags,omitempty"`
}

// bagLine is the part of an interface about one bag.
type bagLine struct {
	Description string              `json:"description,omitempty"`
	Fields      []schema.Field      `json:"fields"`
	Examples    []map[string]string `json:"examples,omitempty"`
}

func describe(i sourced) interfaceLine {
	line := interfaceLine{Name: i.Name, Version: i.Version, From: i.from, Description: i.Description, Bags: map[string]bagLine{}}
	for _, place := range places() {
		bag := i.Bags[place]
		if len(bag.Fields) == 0 {
			continue
		}
		line.Bags[place.String()] = bagLine{Description: bag.Description, Fields: bag.Fields, Examples: bag.Examples}
	}
	return line
}

// print shows an interface to people.
func (l interfaceLine) print(s screen) error {
	fmt.Fprintf(s.out, "%s version %d (%s)\n%s", s.paint(bold, l.Name), l.Version, l.From, wrap(l.Description, "", s.width))
	for _, place := range places() {
		bag, has := l.Bags[place.String()]
		if !has {
			continue
		}
		fmt.Fprintf(s.out, "\n%s\n", s.paint(bold, title(place)))
		if bag.Description != "" {
			fmt.Fprint(s.out, wrap(bag.Description, "", s.width))
		}
		t := s.table("FIELD", "REQUIRED", "SECRET", "DESCRIPTION")
		t.wrapped = true
		for _, f := range bag.Fields {
			t.row(f.Name, yes(f.Ready), yes(f.Secret), f.Description)
		}
		if err := t.print(); err != nil {
			return err
		}
	}
	return l.printUse(s)
}

// printUse shows how manifests use an interface, and the data of an example.
func (l interfaceLine) printUse(s screen) error {
	fmt.Fprintf(s.out, "\n%s\n", s.paint(bold, "Annotations"))
	fmt.Fprintf(s.out, "provider:  tengu.io/provides: main:%s\nconsumer:  tengu.io/consumes: %s\n           tengu.io/relations: "+
		"PROVIDER\n", l.Name, l.Name)
	examples := l.Bags[schema.ProviderApplication.String()].Examples
	if len(examples) == 0 {
		return nil
	}
	fmt.Fprintf(s.out, "\n%s\n", s.paint(bold, "Example of the provider's data"))
	for _, key := range slices.Sorted(maps.Keys(examples[0])) {
		value, err := yaml.Marshal(examples[0][key])
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s: %s\n", key, strings.TrimSpace(string(value)))
	}
	return nil
}

// firstSentence returns a text up to its first full stop.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// title names a bag for people.
func title(place schema.Place) string {
	return map[schema.Place]string{
		schema.ProviderApplication: "Data of the provider", schema.ProviderUnit: "Data of each unit of the provider",
		schema.RequirerApplication: "Data of the requirer", schema.RequirerUnit: "Data of each unit of the requirer",
	}[place]
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}
