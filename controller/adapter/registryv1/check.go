package registryv1

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// checking collects the faults of a bundle.
type checking struct {
	*operator

	faults []error
}

// add adds a fault, with its place and the cure.
func (c *checking) add(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("cannot use ClusterServiceVersion %s: %s", c.Metadata.Name, fmt.Sprintf(format, args...)))
}

// check refuses a bundle that is against the rules of the format, each by its reason, and no other (CONTENT.md X8).
func (o *operator) check() error {
	c := &checking{operator: o}
	names := map[string]bool{}
	for i, d := range o.Spec.Install.Spec.Deployments {
		place := fmt.Sprintf("spec.install.spec.deployments[%d].name", i)
		c.named(place, d.Name)
		if names[d.Name] {
			c.add("%s %q is there twice: rename one", place, d.Name)
		}
		names[d.Name] = true
	}
	for _, other := range o.others {
		if _, known := supported[other.ID().Kind]; !known {
			c.add("%s is of a kind that a bundle may not have: remove it, or install it separately", other.ID())
		}
	}
	c.definitions()
	c.webhooks(names)
	return errors.Join(c.faults...)
}

// named refuses a name that no object may have.
func (c *checking) named(place, name string) {
	const longest = 253
	valid := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	if !valid.MatchString(name) || len(name) > longest {
		c.add("%s %q is not a valid name of an object: write lower-case letters, digits, - and ., at most %d characters", place, name, longest)
	}
}

// definitions refuses a definition that is there twice, and one that is owned and not there.
func (c *checking) definitions() {
	there := map[string]bool{}
	for _, d := range c.operator.definitions {
		if there[d.ID().Name] {
			c.add("%s is there twice in manifests/: remove one", d.ID())
		}
		there[d.ID().Name] = true
	}
	for i, d := range c.Spec.Definitions.Owned {
		if !there[d.Name] {
			c.add("spec.customresourcedefinitions.owned[%d]: it owns CustomResourceDefinition %q, and manifests/ does not have it: add it to "+
				"manifests/, or remove it here", i, d.Name)
		}
	}
}

func (c *checking) webhooks(deployments map[string]bool) {
	seen, converted := map[string]bool{}, map[string]int{}
	for i, w := range c.Spec.Webhooks {
		place := fmt.Sprintf("spec.webhookdefinitions[%d]", i)
		c.named(place+".generateName", w.Name)
		if seen[w.Type+w.Name] {
			c.add("%s.generateName %q is there twice: rename one", place, w.Name)
		}
		seen[w.Type+w.Name] = true
		if !deployments[w.Deployment] {
			c.add("%s names deployment %q, which the install strategy does not have: add it, or name another", place, w.Deployment)
		}
		c.port(i, w)
		switch w.Type {
		case validating, mutating:
			c.rules(place, w)
		case conversion:
			c.conversion(place, w)
			c.converted(i, w, converted)
		default:
			c.add("%s has type %q: write %s, %s or %s", place, w.Type, validating, mutating, conversion)
		}
	}
}

// port refuses a second target for a port of a Service.
func (c *checking) port(i int, w webhook) {
	for j, earlier := range c.Spec.Webhooks[:i] {
		if earlier.Deployment == w.Deployment && earlier.port() == w.port() && earlier.target() != w.target() {
			c.add("spec.webhookdefinitions[%d] has target port %v for port %d, and spec.webhookdefinitions[%d] has %v: use one target port, "+
				"or two ports", i, w.target(), w.port(), j, earlier.target())
			return
		}
	}
}

// rules refuses rules by which an operator could stop its own removal.
func (c *checking) rules(place string, w webhook) {
	for _, r := range w.Rules {
		for _, group := range r.APIGroups {
			if why := guarded[group]; why != "" {
				c.add("%s has a rule for API group %q, which %s: name the groups that it needs", place, group, why)
			}
			for _, resource := range r.Resources {
				if group == "admissionregistration.k8s.io" && slices.Contains(guardedResources, strings.ToLower(resource)) {
					c.add("%s has a rule for %s of API group %q, which would keep it from being removed: remove it", place, resource, group)
				}
			}
		}
	}
}

// guarded are the API groups that an operator may not answer for, and why; guardedResources are resources of
// admissionregistration.k8s.io, in their singular too.
//
//nolint:gochecknoglobals // tables
var (
	guarded = map[string]string{
		"*":                        "has all others in it",
		"olm.operatorframework.io": "would let it stop installations",
	}
	guardedResources = []string{
		"*", "mutatingwebhookconfiguration", "mutatingwebhookconfigurations", "validatingwebhookconfiguration", "validatingwebhookconfigurations",
	}
)

// conversion refuses conversions where an operator may be installed for a part of the cluster.
func (c *checking) conversion(place string, w webhook) {
	var partial []string
	all := false
	for _, m := range c.Spec.InstallModes {
		switch {
		case m.Supported && m.Type == allNamespaces:
			all = true
		case m.Supported:
			partial = append(partial, string(m.Type))
		}
	}
	switch {
	case len(partial) > 0:
		c.add("%s converts objects of the whole cluster, but the bundle also supports %s: leave only %s supported in spec.installModes", place,
			strings.Join(partial, ", "), allNamespaces)
	case !all:
		c.add("%s converts objects of the whole cluster: support %s in spec.installModes", place, allNamespaces)
	}
	for _, name := range w.Converted {
		if !slices.ContainsFunc(c.Spec.Definitions.Owned, func(d owned) bool { return d.Name == name }) {
			c.add("%s converts %q, which the bundle does not own: add it to spec.customresourcedefinitions.owned, or remove it from "+
				"conversionCRDs", place, name)
		}
	}
}

// converted refuses definitions that two webhooks convert, and those that the API server would not convert.
func (c *checking) converted(i int, w webhook, converted map[string]int) {
	for _, name := range w.Converted {
		if j, twice := converted[name]; twice {
			c.add("spec.webhookdefinitions[%d].conversionCRDs has %q, which spec.webhookdefinitions[%d] converts already: remove it from one",
				i, name, j)
			continue
		}
		converted[name] = i
		for _, d := range c.operator.definitions {
			if d.ID().Name == name && d.At("spec", "preserveUnknownFields") == true {
				c.add("%s has spec.preserveUnknownFields: true, with which nothing is converted: set it to false", d.ID())
			}
		}
	}
}
