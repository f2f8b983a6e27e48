package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Catalog is the interfaces that are known in a cluster. It does not change: who
// adds to it gets another one. The zero Catalog knows none.
type Catalog struct {
	// byName holds the versions of each, lowest first.
	byName map[string][]Interface
}

// NewCatalog returns a catalog of these interfaces. The first of several with one name and version counts.
func NewCatalog(all ...Interface) Catalog { return Catalog{}.With(all...) }

// With returns a catalog that also knows these interfaces. What is known already
// is not replaced: a published version is immutable (SAFETY.md S5).
func (c Catalog) With(more ...Interface) Catalog {
	byName := maps.Clone(c.byName)
	if byName == nil {
		byName = map[string][]Interface{}
	}
	for _, i := range more {
		at, known := slices.BinarySearchFunc(byName[i.Name], i.Version,
			func(i Interface, version int) int { return cmp.Compare(i.Version, version) })
		if !known {
			byName[i.Name] = slices.Insert(slices.Clone(byName[i.Name]), at, i)
		}
	}
	return Catalog{byName}
}

// Find returns an interface. Version 0, an endpoint's that names none, is the
// lowest that is known: a version that is published later concerns those that name
// it (SAFETY.md M8).
func (c Catalog) Find(name string, version int) (Interface, bool) {
	all := c.byName[name]
	if version == 0 && len(all) > 0 {
		return all[0], true
	}
	i := slices.IndexFunc(all, func(i Interface) bool { return i.Version == version })
	if i < 0 {
		return Interface{}, false
	}
	return all[i], true
}

// shortest is how many letters of the beginning of a name are enough to suggest it.
const shortest = 4

// Near returns the known interface that name, which is not known, was most likely meant
// to be: one that begins with it, as postgresql_client with postgresql, else one that
// differs by a typing mistake; empty if none is near.
func (c Catalog) Near(name string) string {
	if len(c.byName[name]) > 0 {
		return ""
	}
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(c.byName)), func(k string) bool { return name == "" || k[0] != name[0] })
	for _, k := range known {
		if len(name) >= shortest && strings.HasPrefix(k, name) {
			return k
		}
	}
	return spelling.Nearest(name, known)
}

// Fields returns the keys that a consumer's endpoint may read, in order: what its
// interface has in the bag of the provider's application, but for secrets.
func (c Catalog) Fields(e application.Endpoint) (keys []string) {
	i, _ := c.Find(e.Interface, e.Version)
	for _, f := range i.Bags[ProviderApplication].Fields {
		if !f.Secret {
			keys = append(keys, f.Name)
		}
	}
	return keys
}

// before returns the highest version of an interface below one.
func (c Catalog) before(name string, version int) (older Interface, ok bool) {
	for _, i := range c.byName[name] {
		if i.Version < version {
			older, ok = i, true
		}
	}
	return older, ok
}

// Published is an interface as published in a cluster.
type Published struct {
	// Object is the name of the object that it stands in.
	Object string
	// Document is the interface's, as written.
	Document string
	// Changed is set where it is not what was published first.
	Changed bool
}

// ObjectName returns the name of the object in which an interface is published, so
// that a cluster has one object for each version: postgresql-client-v2. Names that
// differ only in '_' and '-' are one to it.
func ObjectName(name string, version int) string {
	return fmt.Sprintf("%s-v%d", strings.ReplaceAll(name, "_", "-"), version)
}

// The reasons of published interfaces.
const (
	// ReasonPublished: it is in force.
	ReasonPublished = "Published"
	// ReasonInvalid: the document is wrong.
	ReasonInvalid = "InvalidDocument"
	// ReasonChanged: the document is not the one that was published.
	ReasonChanged = "Changed"
	// ReasonName: the object has another name than its interface asks for.
	ReasonName = "WrongName"
	// ReasonBuiltIn: Orcon has this version itself.
	ReasonBuiltIn = "BuiltIn"
	// ReasonBreaks: it is in force and breaks what an older version promised.
	ReasonBreaks = "BreaksOlderVersion"
)

// Admit judges what is published, c being what ships with Orcon. ok is set where it
// is in force: its document is right, and c does not have it (SAFETY.md S5). The
// conditions say so, or what is wrong, where, and the cure.
func (c Catalog) Admit(p Published) (i Interface, conditions []condition.Condition, ok bool) {
	if p.Changed {
		return i, condition.Stuck(ReasonChanged, "this version was changed after it was published: delete it and publish the change as a "+
			"new version"), false
	}
	i, problems := Parse([]byte(p.Document))
	if len(problems) > 0 {
		return i, condition.Stuck(ReasonInvalid, toldOf(problems)+": an interface cannot be changed, so delete it, mend the document and create it again"), false
	}
	if want := ObjectName(i.Name, i.Version); p.Object != want {
		return i, condition.Stuck(ReasonName, fmt.Sprintf("version %d of %s is published as %s: delete this object and create it with that name", i.Version, i.Name, want)), false
	}
	if built, there := c.Find(i.Name, i.Version); there && built.Version == i.Version {
		return i, condition.Stuck(ReasonBuiltIn, fmt.Sprintf("version %d of %s ships with Orcon and cannot be replaced: publish another version, or delete this object", i.Version, i.Name)), false
	}
	return i, condition.Settled(ReasonPublished, fmt.Sprintf("version %d of %s is in force", i.Version, i.Name)), true
}

// Breaks says in what an interface breaks the promises of the next lower version
// that c knows; none where it keeps them.
func (c Catalog) Breaks(i Interface) []condition.Condition {
	older, there := c.before(i.Name, i.Version)
	if !there {
		return nil
	}
	broken := Evolves(older, i)
	if len(broken) == 0 {
		return nil
	}
	return []condition.Condition{condition.New(condition.Incompatible, true, ReasonBreaks,
		fmt.Sprintf("what fits version %d may not fit this one: %s", older.Version, toldOf(broken)))}
}

// maxProblems is how many problems one message tells.
const maxProblems = 8

// toldOf joins problems for a message.
func toldOf[P error](problems []P) string {
	var all []string
	for _, p := range problems[:min(len(problems), maxProblems)] {
		all = append(all, p.Error())
	}
	if more := len(problems) - maxProblems; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}
