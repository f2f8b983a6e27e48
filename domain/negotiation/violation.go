package negotiation

import (
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// spoken names the bag that all relations of an end share, and the interface that judges it.
type spoken struct {
	relation.End
	name    string
	version int
}

// violations lists what does not fit the interfaces of relations, in their order: the
// side, the field and the cure, and never a value. It checks a shared bag once, however many
// relations it is in.
func violations(c contents, all []relation.Relation) [][]condition.Condition {
	v := checker{c, map[spoken][]schema.Violation{}}
	found := make([][]condition.Condition, len(all))
	for i, r := range all {
		found[i] = v.violated(r)
	}
	return found
}

// checker is a run of violations.
type checker struct {
	contents
	// fits has the violations of each shared bag.
	fits map[spoken][]schema.Violation
}

// violated lists what does not fit the relation's interface.
func (c checker) violated(r relation.Relation) []condition.Condition {
	i, known := c.Interfaces.Find(r.Interface, r.Version)
	if !known || c.Schema == schema.Off || r.State.EndReason != "" {
		return nil
	}
	var told []string
	for _, e := range slices.Compact([]relation.End{r.Requirer, r.Provider}) {
		if e.Namespace == c.Namespace {
			told = append(told, c.toldOf(r, e, i)...)
		}
	}
	if len(told) == 0 {
		return nil
	}
	return []condition.Condition{condition.New(condition.SchemaViolated, true, relation.ReasonViolated, listed(told))}
}

// toldOf lists what is wrong with the bags of one side.
func (c checker) toldOf(r relation.Relation, e relation.End, i schema.Interface) []string {
	var told []string
	written := c.said[speaker{r.UID, e.Namespace, e.Application}]
	for _, v := range c.unfit(r, e, i) {
		told = append(told, fmt.Sprintf("%s: %s; %s", e, v.Declared(e.Endpoint).Error(), mend(e, v.Path, written)))
	}
	for _, b := range c.saidByUnits[speaker{r.UID, e.Namespace, e.Application}] {
		if b.Endpoint != e.Endpoint {
			continue
		}
		for _, v := range i.Check(r.Role(e), false, b.Data) {
			told = append(told, fmt.Sprintf("%s/%s on %s: %s", e.Application, b.Unit, e.Endpoint, v.Error()))
		}
	}
	return told
}

// mend returns where the value at a path is corrected: in a handler if one wrote it, else in the
// annotation, which also overrides what a Service gives by itself.
func mend(e relation.End, path string, written map[string]string) string {
	field, _, _ := strings.Cut(path, "/")
	if written[field] != "" {
		return fmt.Sprintf("correct it in the handlers of %s, which wrote it", e.Application)
	}
	return fmt.Sprintf("correct it in %s%s of %s", application.PrefixData, e.Endpoint, e.Application)
}

// unfit returns what is wrong with an application's bag in a relation.
func (c checker) unfit(r relation.Relation, e relation.End, i schema.Interface) []schema.Violation {
	if len(c.said[speaker{r.UID, e.Namespace, e.Application}]) > 0 {
		return i.Check(r.Role(e), true, c.in(r, e))
	}
	key := spoken{e, i.Name, i.Version}
	found, seen := c.fits[key]
	if !seen {
		found = i.Check(r.Role(e), true, c.bag(e))
		c.fits[key] = found
	}
	return found
}
