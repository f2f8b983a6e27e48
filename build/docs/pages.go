package main

import (
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/event"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
	jobapproval "gitlab.ilabt.imec.be/tengu/orcon/domain/job/approval"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/check"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	jobtemplate "gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// written are the pages that are written by hand but for what the code says: limits
// are filled in, and names that a page must have are checked.
//
//go:embed pages/*.md
var written embed.FS

// templates writes the pages of the folder pages.
func (g generator) templates() error {
	all, err := template.New("").Funcs(template.FuncMap{
		"number": g.root.number, "size": g.root.size, "span": g.root.span, "tools": tools, "events": event.Relations,
		"relations": condition.Meanings, "bundles": bundle.Meanings, "fleets": integrationset.Meanings, "sentences": sentences,
		"workspaces": workspace.Meanings, "runs": run.Meanings, "farewells": run.FarewellMeanings, "builds": jobtemplate.Meanings,
		"approvals": jobapproval.Meanings, "checks": check.Meanings, "nodes": node.Meanings,
		"join": func(all []string) string { return strings.Join(all, ", ") },
	}).ParseFS(written, "pages/*.md")
	if err != nil {
		return fmt.Errorf("cannot read the pages: %w", err)
	}
	for _, t := range all.Templates() {
		if t.Name() == "" {
			continue
		}
		if err := g.execute(t); err != nil {
			return err
		}
	}
	return nil
}

// execute writes the page of a template.
func (g generator) execute(t *template.Template) error {
	var text strings.Builder
	if err := t.Execute(&text, nil); err != nil {
		return fmt.Errorf("cannot write %s: %w", t.Name(), err)
	}
	if err := g.complete(t.Name(), text.String()); err != nil {
		return err
	}
	title, rest, _ := strings.Cut(text.String(), "\n")
	p := newPage(strings.TrimPrefix(title, "# "))
	p.WriteString(strings.TrimLeft(rest, "\n"))
	return g.write(t.Name(), p)
}

// sentences returns what the conditions of all kinds tell.
func sentences() []condition.Sentence {
	return append(condition.Sentences(), bundle.Sentences()...)
}

// complete reports the names that the code has and the page has not.
func (g generator) complete(file, text string) error {
	names, err := g.root.needed(file)
	if err != nil {
		return fmt.Errorf("cannot check %s: %w", file, err)
	}
	for _, name := range names {
		if !strings.Contains(text, "`"+name) {
			return fmt.Errorf("%s is not on the page: add it to %s", name, path.Join("build/docs/pages", file))
		}
	}
	return nil
}

// toolText is the part of a tool that a page shows.
type toolText struct{ Name, Summary, Help string }

func tools() []toolText {
	var all []toolText
	for _, name := range tool.Names() {
		help := strings.TrimSpace(tool.Help(name))
		_, summary, _ := strings.Cut(help, "Summary:\n")
		summary, _, _ = strings.Cut(summary, "\n\n")
		all = append(all, toolText{name, summary, help})
	}
	return all
}
