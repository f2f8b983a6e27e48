package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/stale"
)

// copies has, by application, the copy with which its pods may start while Orcon is away (TRUST.md A1).
type copies map[string]copying

// copying is the copy of one application as it is stored and as it is to be.
type copying struct {
	before relation.StoredCopy
	// named is set if the record of the application names a copy.
	named bool
	next  stale.Copy
	// growth is by how many bytes the next one is longer.
	growth int
	// refused is why its pods cannot start with a copy although their author allows it.
	refused []condition.Condition
}

// becomes returns the copy of an application as it is to be, or why there is none.
func (c copying) becomes(next stale.Copy, refused []condition.Condition) copying {
	c.next, c.refused, c.growth = next, refused, next.Size()-c.before.Size()
	return c
}

// kept reports whether the record of the application names a copy: while one is stored, or may be, and before that.
func (c copying) kept(before bool) bool {
	return c.before.Stored || c.before.Refused != "" && before || !c.next.Empty()
}

// copiesOf returns the copies of the applications that allow one, or have one.
func copiesOf(c contents, settled relations) copies {
	all := copies{}
	for _, one := range c.Copies {
		all[one.Application] = copying{before: one}.becomes(stale.Copy{}, nil)
	}
	for _, a := range c.Applications {
		if a.Stale && !a.OptedOut() {
			is := all[a.Name]
			is.before.Application, is.named = a.Name, c.record(c.here(a.Name, "")).Copied
			next, refused := copier{c, settled, is.before.Copy}.of(a)
			if why := is.before.Refused; why != "" && refused == nil {
				refused = staleRefused(relation.ReasonNotWritable, why)
			}
			all[a.Name] = is.becomes(next, refused)
		}
	}
	return all.fitted()
}

// byGrowth returns the applications in the order in which their copies are written: first those that make room.
func (c copies) byGrowth() []string {
	return slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return cmp.Or(cmp.Compare(c[a].growth, c[b].growth), strings.Compare(a, b))
	})
}

// fitted returns the copies without those for which their ConfigMap has no room. What other applications have there stays.
func (c copies) fitted() copies {
	used := map[string]int{}
	for name, is := range c {
		used[application.StaleCopy(name)] += is.before.Size()
	}
	fitted := maps.Clone(c)
	for _, name := range c.byGrowth() {
		is, shard := c[name], application.StaleCopy(name)
		size, room := is.next.Size(), stale.MaxStored-used[shard]+is.before.Size()
		if size > room {
			is = is.becomes(stale.Copy{}, staleRefused(relation.ReasonTooLarge, fmt.Sprintf(
				"the data of the relations has %d bytes as Kubernetes encodes it, and key %s of ConfigMap %s has room for %d: "+
					"while Orcon is away, new pods wait", size, name, shard, room)))
			fitted[name] = is
		}
		used[shard] += is.growth
	}
	return fitted
}

// wake returns when refused copies are tried again; zero for never.
func (c copies) wake(now time.Time) time.Time {
	for _, is := range c {
		if is.before.Refused != "" {
			return now.Add(relation.CopyRetry)
		}
	}
	return time.Time{}
}

// decisions returns what must be done for the copies to be as they are to be: first those that are stored and differ, and
// last those that are new, once the record of their application names them.
func (c copies) decisions() (changed, made []relation.Decision) {
	for _, name := range c.byGrowth() {
		is := c[name]
		d := relation.Copy{StoredCopy: is.before, Next: is.next}
		switch stored := is.before.Stored; {
		case is.before.Refused != "":
		case stored && (is.next.Empty() || !is.next.Equal(is.before.Copy)):
			changed = append(changed, d)
		case !stored && !is.next.Empty() && is.named:
			made = append(made, d)
		}
	}
	return changed, made
}

// copier makes copies.
type copier struct {
	contents
	relations relations
	before    stale.Copy
}

// of returns what a pod of an application that starts now gets of its complete relations; nothing if it would wait.
func (c copier) of(a application.Application) (stale.Copy, []condition.Condition) {
	var items []stale.Item
	for _, e := range a.Endpoints {
		if e.Role != application.Requirer {
			continue
		}
		found, withheld := c.items(c.here(a.Name, e.Name))
		switch {
		case withheld == "" && (len(found) > 0 || e.Optional):
			items = append(items, found...)
		case e.Optional:
		case withheld != "":
			return stale.Copy{}, staleRefused(relation.ReasonNeedsSecret, fmt.Sprintf(
				"endpoint %s needs the secret in field %s, and no copy holds one: while Orcon is away, new pods wait", e.Name, withheld))
		default:
			return stale.Copy{}, nil
		}
	}
	return stale.Of(items), nil
}

// items returns what is copied of the relations of an endpoint. withheld is a field that keeps another one out.
func (c copier) items(here relation.End) (items []stale.Item, withheld string) {
	for r := range c.relations.of(here.Application) {
		if r.Requirer != here || !shows(r) {
			continue
		}
		if c.unreadable.freezes(r) { // it is as it was
			if i, there := c.before.Of(r.UID); there {
				items = append(items, i)
			}
			continue
		}
		bag := c.in(r, r.Provider)
		if len(bag) == 0 {
			continue
		}
		if field := c.withheld(r, bag); field != "" {
			withheld = cmp.Or(withheld, field)
			continue
		}
		items = append(items, stale.Item{
			Relation: r.UID, ID: r.State.ID, Endpoint: here.Endpoint, Interface: r.Interface,
			Provider: r.Provider.From(c.Namespace), Data: bag,
		})
	}
	return items, withheld
}

// shows reports whether the agents of the requirer are shown a relation, with complete data. One that is made now is shown
// later.
func shows(r relation.Relation) bool {
	return !r.Created.IsZero() && r.Alive() && r.Open() && r.Complete()
}

// withheld returns the field that keeps the data of a relation out of a copy; empty if none does.
func (c copier) withheld(r relation.Relation, bag map[string]string) string {
	if g, granted := c.grantIn(r, r.Provider); granted {
		return g.Key
	}
	var secrets []string
	if i, known := c.Interfaces.Find(r.Interface, r.Version); known && c.Schema != schema.Off {
		secrets = i.Bag(r.Role(r.Provider), true).Secrets()
	}
	return stale.Withheld(bag, secrets)
}

// staleRefused returns why pods cannot start with a copy.
func staleRefused(reason, why string) []condition.Condition {
	return []condition.Condition{condition.New(condition.StaleRefused, true, reason, why)}
}
