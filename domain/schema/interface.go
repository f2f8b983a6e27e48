package schema

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Interface is a name and version that both sides of a relation agree on, and
// what each of its bags holds. The zero Interface allows everything.
type Interface struct {
	// Name is the name that endpoints use.
	Name string
	// Version is 1 or more.
	Version int
	// Description says for people what it is for.
	Description string
	// Bags are the four bags, by Place.
	Bags [4]Bag
}

// Place is one of the four bags that a relation has, units counted as one.
type Place int

// The places, in the order of Interface.Bags.
const (
	ProviderApplication Place = iota
	ProviderUnit
	RequirerApplication
	RequirerUnit
)

// PlaceOf returns the place of a bag. Both sides of a peer relation are one
// application, which has the provider's bags.
func PlaceOf(role application.Role, isApplication bool) Place {
	place := ProviderApplication
	if role == application.Requirer {
		place = RequirerApplication
	}
	if !isApplication {
		place++
	}
	return place
}

// String returns the place as the document spells it: provider/application.
func (p Place) String() string {
	switch p {
	case ProviderApplication:
		return "provider/application"
	case ProviderUnit:
		return "provider/unit"
	case RequirerApplication:
		return "requirer/application"
	case RequirerUnit:
		return "requirer/unit"
	default:
		return ""
	}
}

// given are the keys that Orcon itself puts into a bag of this place, and that no
// schema has to mention: what a Service says of itself (RELATIONS.md,
// Declarations), and a unit's addresses (L2).
func (p Place) given() []string {
	switch p {
	case ProviderApplication:
		return []string{"host", "port", "ports", "url"}
	case ProviderUnit, RequirerUnit:
		return []string{"egress-subnets", "ingress-address", "private-address"}
	case RequirerApplication:
		return nil
	default:
		return nil
	}
}

// Bag is the part of an interface about one bag.
type Bag struct {
	// Description says for people what the bag is for; may be empty.
	Description string
	// Fields are the declared fields, in order of name.
	Fields []Field
	// Examples are bags that fit.
	Examples []map[string]string

	ready, secret []string       // as written
	source        map[string]any // the schema as written
	judge         judge
}

// Field is a declared key of a bag. Its JSON is that of orcon interfaces.
type Field struct {
	// Name is the key; it may be a file's name (SAFETY.md W1).
	Name string `json:"name"`
	// Ready is set where the relation is not ready without it.
	Ready bool `json:"required"`
	// Secret is set where the value is a reference to a secret
	// (RELATIONS.md P5).
	Secret bool `json:"secret"`
	// JSON is set where the value is JSON inside the string.
	JSON bool `json:"json"`
	// Deprecated is set where new code should not use it.
	Deprecated bool `json:"deprecated,omitempty"`
	// Description documents it.
	Description string `json:"description,omitempty"`
}

// Field returns the declared field of that name.
func (b Bag) Field(name string) (Field, bool) {
	i := slices.IndexFunc(b.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return b.Fields[i], true
}

// Secrets returns the names of the fields that hold references to secrets.
func (b Bag) Secrets() []string { return slices.Clone(b.secret) }

// Bag returns what is said of the bag of that role.
func (i Interface) Bag(role application.Role, isApplication bool) Bag {
	return i.Bags[PlaceOf(role, isApplication)]
}

// Fields returns the fields of that role's application bag, in order of name:
// those that the other side may have as variables, <ENDPOINT>_<KEY>, unless they
// are secret (SAFETY.md P7).
func (i Interface) Fields(role application.Role) []Field {
	return slices.Clone(i.Bag(role, true).Fields)
}

// Secret reports whether a field holds a reference to a secret
// (RELATIONS.md P5).
func (i Interface) Secret(role application.Role, isApplication bool, field string) bool {
	f, _ := i.Bag(role, isApplication).Field(field)
	return f.Secret
}

// Missing returns the fields, in order of name, that the bag does not hold yet
// and without which the relation is not ready. An empty value is none
// (RELATIONS.md P3).
func (i Interface) Missing(role application.Role, isApplication bool, bag map[string]string) []string {
	var missing []string
	for _, f := range i.Bag(role, isApplication).Fields {
		if f.Ready && bag[f.Name] == "" {
			missing = append(missing, f.Name)
		}
	}
	return missing
}
