package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rule is a permission of a role: verbs on resources of groups, or on URLs outside them.
type Rule struct {
	// Verbs, Groups and Resources may be "*" for all; the core group is empty.
	Verbs, Groups, Resources []string
	// Names are the only objects; empty for all.
	Names []string
	// URLs are paths of the API server, and end in "*" for all below.
	URLs []string
}

// star stands for all that there is.
const star = "*"

// rules reads those of a Role or a ClusterRole.
func rules(o Object) []Rule {
	var found []Rule
	for _, one := range list(o.At("rules")) {
		fields, _ := one.(map[string]any)
		found = append(found, Rule{
			Verbs: texts(fields["verbs"]), Groups: texts(fields["apiGroups"]), Resources: texts(fields["resources"]),
			Names: texts(fields["resourceNames"]), URLs: texts(fields["nonResourceURLs"]),
		})
	}
	return found
}

// texts are the strings of a list.
func texts(at any) []string {
	var found []string
	for _, one := range list(at) {
		if text, ok := one.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// may is one thing that a rule allows: a verb on a resource, of one name or of all, or on
// a URL.
type may struct{ verb, group, resource, name, url string }

// each lists all that a rule allows.
func (r Rule) each() []may {
	var found []may
	for _, verb := range r.Verbs {
		for _, url := range r.URLs {
			found = append(found, may{verb: verb, url: url})
		}
		for _, group := range r.Groups {
			for _, resource := range r.Resources {
				found = append(found, r.named(may{verb: verb, group: group, resource: resource})...)
			}
		}
	}
	return found
}

// named is a thing for each name of a rule, or for all objects.
func (r Rule) named(m may) []may {
	if len(r.Names) == 0 {
		return []may{m}
	}
	var found []may
	for _, m.name = range r.Names {
		found = append(found, m)
	}
	return found
}

// allows reports whether a rule allows a thing, as the API server's authorizer decides.
func (r Rule) allows(m may) bool {
	if !has(r.Verbs, m.verb) {
		return false
	}
	if m.url != "" {
		return slices.ContainsFunc(r.URLs, func(url string) bool {
			below, open := strings.CutSuffix(url, star)
			return url == m.url || open && strings.HasPrefix(m.url, below)
		})
	}
	_, part, _ := strings.Cut(m.resource, "/")
	return has(r.Groups, m.group) && (has(r.Resources, m.resource) || part != "" && slices.Contains(r.Resources, "*/"+part)) &&
		(len(r.Names) == 0 || m.name != "" && slices.Contains(r.Names, m.name))
}

// has reports whether a list that may have a star has a word.
func has(words []string, word string) bool {
	return slices.Contains(words, star) || slices.Contains(words, word)
}

// The bounds of the things that roles allow, which the controller of all bundles works out (TRUST.md U6): a few lists of a
// rule, multiplied, make any number of things.
const (
	// mostThings is how many things rules may list to be compared thing by thing.
	mostThings = 20_000
	// mostWords is how many things, or verbs, a rule names in words.
	mostWords = 1_000
)

// count returns how many things a rule allows, at most one more than mostThings.
func (r Rule) count() int {
	things := min(len(r.Groups)*len(r.Resources), mostThings+1)
	things = min(things*max(1, len(r.Names)), mostThings+1)
	return min((things+len(r.URLs))*len(r.Verbs), mostThings+1)
}

// count returns how many things rules allow, at most one more than mostThings.
func count(rules []Rule) int {
	n := 0
	for _, r := range rules {
		n = min(n+r.count(), mostThings+1)
	}
	return n
}

// changed are the rules that are in after and, as they are, not in before.
func changed(before, after []Rule) []Rule {
	known := map[string]bool{}
	for _, r := range before {
		known[fmt.Sprintf("%q", r)] = true
	}
	return slices.DeleteFunc(slices.Clone(after), func(r Rule) bool { return known[fmt.Sprintf("%q", r)] })
}

// widened are the rules that allow what is in after and not in before, as few as say it:
// none that another covers, resources with the same verbs together. Equal inputs give
// equal rules, in whatever order they come. They list no more than mostThings.
func widened(before, after []Rule) []Rule {
	var fresh []may
	for _, r := range after {
		for _, m := range r.each() {
			if !slices.ContainsFunc(before, func(b Rule) bool { return b.allows(m) }) {
				fresh = append(fresh, m)
			}
		}
	}
	slices.SortFunc(fresh, may.compare)
	fresh = slices.Compact(fresh)
	open := slices.DeleteFunc(slices.Clone(fresh), func(m may) bool { return !m.open() })
	there := map[may]bool{}
	for _, m := range fresh {
		there[m] = true
	}
	fresh = slices.DeleteFunc(fresh, func(m may) bool { return m.covered(there, open) })
	return joined(joined(joined(singles(fresh), verbs), resources), names)
}

// open reports whether a thing is all URLs below one.
func (m may) open() bool { return strings.HasSuffix(m.url, star) }

// covered reports whether another thing includes this one: one of those that are there, with a star or without a name in the
// place of a word, or open URLs.
func (m may) covered(there map[may]bool, open []may) bool {
	if m.url != "" {
		return m.verb != star && there[may{verb: star, url: m.url}] ||
			slices.ContainsFunc(open, func(wider may) bool { return wider != m && wider.rule().allows(m) })
	}
	return slices.ContainsFunc(m.wider(), func(wider may) bool { return wider != m && there[wider] })
}

// wider are the things that include this one, which is of resources, and itself.
func (m may) wider() []may {
	all := []may{m}
	_, part, _ := strings.Cut(m.resource, "/")
	for _, widen := range []func(*may){
		func(w *may) { w.verb = star }, func(w *may) { w.group = star }, func(w *may) { w.name = "" }, func(w *may) { w.resource = star },
		func(w *may) {
			if part != "" && w.resource != star {
				w.resource = "*/" + part
			}
		},
	} {
		for _, w := range all {
			widen(&w)
			all = append(all, w)
		}
	}
	return all
}

func (m may) compare(other may) int {
	return cmp.Or(cmp.Compare(m.url, other.url), cmp.Compare(m.group, other.group), cmp.Compare(m.resource, other.resource),
		cmp.Compare(m.name, other.name), cmp.Compare(m.verb, other.verb))
}

// rule allows one thing and what it includes.
func (m may) rule() Rule {
	if m.url != "" {
		return Rule{Verbs: []string{m.verb}, URLs: []string{m.url}}
	}
	r := Rule{Verbs: []string{m.verb}, Groups: []string{m.group}, Resources: []string{m.resource}}
	if m.name != "" {
		r.Names = []string{m.name}
	}
	return r
}

func singles(allowed []may) []Rule {
	var found []Rule
	for _, m := range allowed {
		found = append(found, m.rule())
	}
	return found
}

// verbs, resources and names are lists of a rule; URLs are joined with resources.
func verbs(r *Rule) *[]string { return &r.Verbs }

func names(r *Rule) *[]string { return &r.Names }

func resources(r *Rule) *[]string {
	if len(r.URLs) > 0 {
		return &r.URLs
	}
	return &r.Resources
}

// joined puts rules together that differ in one list alone.
func joined(rules []Rule, part func(*Rule) *[]string) []Rule {
	var found []Rule
	at := map[string]int{}
	for _, r := range rules {
		rest := r
		*part(&rest) = nil
		key := fmt.Sprintf("%q %t", [][]string{rest.Verbs, rest.Groups, rest.Resources, rest.Names, rest.URLs}, len(*part(&r)) == 0)
		i, known := at[key]
		if !known {
			at[key] = len(found)
			found = append(found, r)
			continue
		}
		list := part(&found[i])
		*list = append(*list, *part(&r)...)
	}
	return found
}

// String says what a rule allows: "read and delete secrets".
func (r Rule) String() string {
	if r.everything() {
		return "do everything"
	}
	if len(r.URLs) > 0 {
		return doings(r.Verbs) + " URLs " + strings.Join(some(r.URLs), ", ")
	}
	text := doings(r.Verbs) + " " + strings.Join(r.things(), ", ")
	if len(r.Names) > 0 {
		text += " named " + strings.Join(some(r.Names), ", ")
	}
	return text
}

// things names the resources of a rule, or counts them if they are too many.
func (r Rule) things() (all []string) {
	if n := len(r.Groups) * len(r.Resources); n > mostWords {
		return []string{fmt.Sprintf("%d resources of %d groups", n, len(r.Groups))}
	}
	for _, group := range r.Groups {
		for _, resource := range r.Resources {
			all = append(all, thing(group, resource))
		}
	}
	return all
}

// some returns the first of many words, and how many more there are.
func some(words []string) []string {
	if len(words) <= mostWords {
		return words
	}
	return append(words[:mostWords:mostWords], fmt.Sprintf("%d more", len(words)-mostWords))
}

func (r Rule) everything() bool {
	return len(r.Names)+len(r.URLs) == 0 && slices.Contains(r.Verbs, star) && slices.Contains(r.Groups, star) && slices.Contains(r.Resources, star)
}

// thing names a resource: "secrets", "deployments.apps".
func thing(group, resource string) string {
	switch {
	case resource == star && group == star:
		return "everything"
	case resource == star && group == "":
		return "everything of the core group"
	case resource == star:
		return "everything of group " + group
	case group == star:
		return resource + " of every group"
	case group == "":
		return resource
	}
	return resource + "." + group
}

// doings says verbs as people do.
func doings(verbs []string) string {
	if slices.Contains(verbs, star) {
		return "do everything with"
	}
	var words []string
	for _, verb := range verbs {
		switch verb {
		case "get":
			words = append([]string{"read"}, words...)
		case "list", "watch":
			if !slices.Contains(verbs, "get") {
				words = append(words, verb)
			}
		case "update", "patch":
			if !slices.Contains(words, "change") {
				words = append(words, "change")
			}
		default:
			words = append(words, verb)
		}
	}
	words = some(words)
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return strings.Join(words, "")
}
