package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Remark is a problem of a declaration by the interfaces that it names.
type Remark struct {
	Problem application.Problem
	// About is the value that the problem is about. No message has it.
	About string
}

// Remarks returns what of a declaration does not fit the known interfaces: data that violates its
// schema, interfaces and versions that are not known, and keys that are misspelt (SAFETY.md I27).
// It returns none in mode Off. All are warnings but the violations that the mode refuses.
func (c Catalog) Remarks(declared application.Declaration, mode Mode) []Remark {
	if mode == Off {
		return nil
	}
	return slices.Concat(c.unfit(declared, mode), c.unknown(declared), c.misspelt(declared), joined(declared))
}

// unfit returns the violations in the declared data of endpoints whose interface is known.
func (c Catalog) unfit(declared application.Declaration, mode Mode) []Remark {
	var found []Remark
	for _, e := range declared.Endpoints {
		i, known := c.Find(e.Interface, e.Version)
		if !known {
			continue
		}
		bag := declared.Data[e.Name]
		for _, v := range i.Check(e.Role, true, bag) {
			v = v.Declared(e.Name)
			field, _, _ := strings.Cut(v.Path, "/")
			p := application.Problem{Key: application.PrefixData + e.Name, Entry: v.Path, Reason: v.Reason, Warning: !mode.Refuses(v)}
			if v.Expected != "" {
				p.Cure = "expected " + v.Expected
			}
			found = append(found, Remark{p, bag[field]})
		}
	}
	return found
}

// unknown warns of interfaces that are not known and most likely misspelt, and of versions that a
// known interface does not have.
func (c Catalog) unknown(declared application.Declaration) []Remark {
	var found []Remark
	tell := func(e application.Endpoint, entry, what, cure string) {
		found = append(found, Remark{About: entry, Problem: application.Problem{
			Key: e.Role.Key(), Entry: entry, Reason: "no such " + what + " is known, so its data is not checked", Cure: cure, Warning: true,
		}})
	}
	for _, e := range declared.Endpoints {
		if near := c.Near(e.Interface); near != "" {
			right := e
			right.Interface = near
			if e.Name == e.Interface {
				right.Name = near
			}
			tell(e, e.Interface, "interface", "did you mean "+entryOf(right)+"?")
		}
		if _, known := c.Find(e.Interface, e.Version); !known && len(c.byName[e.Interface]) > 0 {
			tell(e, fmt.Sprintf("%s@%d", e.Interface, e.Version), "version", "write "+strings.Join(c.entries(e), " or "))
		}
	}
	return found
}

// entries returns the entry of an endpoint with each known version of its interface, lowest first.
func (c Catalog) entries(e application.Endpoint) []string {
	var all []string
	for _, i := range c.byName[e.Interface] {
		e.Version = i.Version
		all = append(all, entryOf(e))
	}
	return all
}

// entryOf returns an endpoint as it is written in a list.
func entryOf(e application.Endpoint) string {
	text := e.Name
	if e.Interface != e.Name || e.Version > 0 {
		text += ":" + e.Interface
	}
	if e.Version > 0 {
		text += fmt.Sprintf("@%d", e.Version)
	}
	if e.Optional {
		text += "?"
	}
	if e.Limit > 0 {
		text += fmt.Sprintf("!%d", e.Limit)
	}
	return text
}

// misspelt warns of keys that are most likely misspelt fields of their interface: in the data of an
// endpoint, and in tengu.io/env. An interface may have other keys as well.
func (c Catalog) misspelt(declared application.Declaration) []Remark {
	var found []Remark
	for _, e := range declared.Endpoints {
		i, _ := c.Find(e.Interface, e.Version)
		data, env := slices.Sorted(maps.Keys(declared.Data[e.Name])), declared.Env[e.Name]
		found = append(found, i.nearFields(e.Role, application.PrefixData+e.Name, data, func(_ int, near string) string { return near })...)
		if e.Role == application.Requirer {
			found = append(found, i.nearFields(application.Provider, application.KeyEnv, env, func(at int, near string) string {
				return cmp.Or(spelling.Keys(e.Name, slices.Concat(env[:at], []string{near}, env[at+1:])...), near)
			})...)
		}
	}
	return found
}

// nearFields returns a warning for each key that the interface has no field for and whose name is
// near to that of one. entry returns what to write with the near name in the place of a key.
func (i Interface) nearFields(role application.Role, at string, keys []string, entry func(place int, near string) string) []Remark {
	var fields []string
	for _, f := range i.Fields(role) {
		fields = append(fields, f.Name)
	}
	var found []Remark
	for place, key := range keys {
		near := spelling.Nearest(key, fields)
		if near == "" || slices.Contains(fields, key) {
			continue
		}
		found = append(found, Remark{About: key, Problem: application.Problem{
			Key: at, Entry: key, Reason: fmt.Sprintf("interface %s has no such field", i.Name),
			Cure: "did you mean " + entry(place, near) + "?", Warning: true,
		}})
	}
	return found
}

// joined warns of lists of keys in tengu.io/env that another entry follows after a comma: it is taken for a key.
func joined(declared application.Declaration) []Remark {
	var found []Remark
	for _, e := range declared.Endpoints {
		keys := slices.Clone(declared.Env[e.Name])
		wrong := ""
		for i, key := range keys {
			other, _, entry := strings.Cut(key, "=")
			if consumed, _ := declared.Endpoint(strings.TrimSpace(other)); entry && consumed.Role == application.Requirer {
				keys[i], wrong = ";"+key, cmp.Or(wrong, key)
			}
		}
		if wrong == "" {
			continue
		}
		cure := "write ';' before each endpoint"
		if whole := spelling.Keys(e.Name, keys...); whole != "" {
			cure = "write " + strings.ReplaceAll(whole, ",;", ";")
		}
		found = append(found, Remark{About: wrong, Problem: application.Problem{
			Key: application.KeyEnv, Entry: wrong, Reason: "';' separates entries, and this is taken for a key of endpoint " + e.Name,
			Cure: cure, Warning: true,
		}})
	}
	return found
}
