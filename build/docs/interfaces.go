package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// interfaces writes a page for each built-in interface, and their list.
func (g generator) interfaces() error {
	all, err := schema.Library()
	if err != nil {
		return fmt.Errorf("cannot read the library: %w", err)
	}
	list := newPage("Built-in interfaces")
	list.prose("Orcon knows these interfaces without any object in the cluster. To add one of your own, see [Publish an " +
		"interface](../../how-to/publish-an-interface.md). " +
		"A relation is ready when both sides have written the fields that are marked as needed.")
	list.table("interface", "what it is for")
	for _, i := range all {
		list.row(fmt.Sprintf("[`%s`](%s.md)", i.Name, i.Name), i.Description)
		p := newPage(i.Name)
		p.prose(i.Description)
		p.line("Version %d. An endpoint that has this interface: `%s`.\n", i.Version, declared(i.Name))
		for place, bag := range i.Bags {
			if err := writeBag(p, i, schema.Place(place), bag); err != nil {
				return err
			}
		}
		if err := g.write("interfaces/"+i.Name+".md", p); err != nil {
			return err
		}
	}
	return g.write("interfaces/README.md", list)
}

// declared is an endpoint with the interface, as an annotation lists it.
func declared(name string) string { return "my-" + strings.ReplaceAll(name, "_", "-") + ":" + name }

// writeBag adds what an interface says of one bag.
func writeBag(p *page, i schema.Interface, place schema.Place, bag schema.Bag) error {
	if len(bag.Fields) == 0 && len(bag.Examples) == 0 {
		return nil
	}
	p.line("## %s\n", map[schema.Place]string{
		schema.ProviderApplication: "What the provider writes",
		schema.ProviderUnit:        "What each unit of the provider writes",
		schema.RequirerApplication: "What the consumer writes",
		schema.RequirerUnit:        "What each unit of the consumer writes",
	}[place])
	if bag.Description != "" {
		p.prose(bag.Description)
	}
	if len(bag.Fields) > 0 {
		p.table("field", "needed", "secret", "meaning")
		for _, f := range bag.Fields {
			p.row("`"+f.Name+"`", yes(f.Ready), yes(f.Secret), f.Description)
		}
		p.line("")
	}
	if place == schema.ProviderApplication {
		variables(p, i)
	}
	for _, example := range bag.Examples {
		text, err := yaml.Marshal(example)
		if err != nil {
			return fmt.Errorf("cannot write an example of %s: %w", i.Name, err)
		}
		p.line("Example:\n\n```yaml\n%s```\n", text)
	}
	return nil
}

// variables lists the environment variables of a consumer's endpoint db.
func variables(p *page, i schema.Interface) {
	fields := map[string][]string{}
	for _, f := range i.Fields(application.Provider) {
		if !f.Secret {
			fields["db"] = append(fields["db"], f.Name)
		}
	}
	endpoint := application.Endpoint{Name: "db", Interface: i.Name, Role: application.Requirer}
	all, _ := injection.Variables([]application.Endpoint{endpoint}, fields, nil)
	names := map[string]bool{}
	for _, v := range all {
		names["`"+v.Name+"`"] = true
	}
	p.prose("An endpoint named `db` gives its containers the variables " + strings.Join(slices.Sorted(maps.Keys(names)), ", ") +
		", those whose field was written, and each field as a file in `$SERVICE_BINDING_ROOT/db/`.")
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}
