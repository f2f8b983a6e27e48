package main

import (
	"go/ast"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// needed returns the names that a page must have.
func (c checkout) needed(file string) ([]string, error) {
	switch file {
	case "annotations.md":
		return c.keys()
	case "conditions.md":
		return c.conditions()
	case "handler-environment.md":
		return variablesOfHandlers(), nil
	case "health-kinds.md":
		return health.Kinds(), nil
	}
	return nil, nil
}

// keys returns the annotations and labels that users write or read.
func (c checkout) keys() ([]string, error) {
	relations, err := c.specs("domain/application")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, s := range relations {
		if strings.HasPrefix(s.name, "Key") || strings.HasPrefix(s.name, "Prefix") || strings.HasPrefix(s.name, "Label") {
			all = append(all, s.value)
		}
	}
	bundles, err := c.specs("domain/bundle")
	for _, s := range bundles {
		if sum, ok := s.expr.(*ast.BinaryExpr); ok && strings.HasSuffix(s.name, "Key") && text(sum.Y) != "" {
			all = append(all, "orcon.tengu.io/"+text(sum.Y))
		}
	}
	return all, err
}

// conditions returns the conditions' types and reasons.
func (c checkout) conditions() ([]string, error) {
	all, err := c.stops("controller/bundledeployment")
	if err != nil {
		return nil, err
	}
	for _, folder := range []string{"condition", "bundle", "relation", "schema", "application", "secret"} {
		specs, err := c.specs("domain/" + folder)
		if err != nil {
			return nil, err
		}
		for _, s := range specs {
			isType := strings.HasSuffix(s.kind, "Type") && (folder == "condition" || folder == "bundle" && strings.HasPrefix(s.kind, "condition."))
			if s.value != "" && (isType || s.kind == "Reason" || strings.HasPrefix(s.name, "Reason")) {
				all = append(all, s.value)
			}
		}
	}
	return all, nil
}

// stops returns the reasons that a folder writes as Reason: "…".
func (c checkout) stops(folder string) ([]string, error) {
	files, err := c.source(folder)
	var all []string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if key, isKey := pair.Key.(*ast.Ident); isKey && key.Name == "Reason" && text(pair.Value) != "" {
					all = append(all, text(pair.Value))
				}
			}
			return true
		})
	}
	return all, err
}

// variablesOfHandlers returns the variables of events that have everything that an
// event can have.
func variablesOfHandlers() []string {
	unit := conversation.Unit{Application: "web", Number: 0}
	ended := conversation.Event{
		Kind: conversation.Broken, Relation: "x", Endpoint: "db", ID: 7, Application: "postgres",
		Unit: &unit, Departing: &unit, Reason: "x", Joined: []conversation.Unit{unit},
	}
	all := tool.Environment(unit, ended)
	maps.Copy(all, tool.Environment(unit, conversation.Event{Kind: conversation.SecretChanged, Secret: "x"}))
	return slices.Sorted(maps.Keys(all))
}
