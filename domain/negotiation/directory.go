package negotiation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// directory finds the applications that those of a namespace can relate to.
type directory struct {
	namespace string
	apps      map[string]application.Application
	// services maps the name of a Service to the application that it joined.
	services map[string]string
	// providers lists, for each interface, the applications that provide it.
	providers map[string][]application.Application
	// offered has the applications of other namespaces with the endpoints that they
	// offer to this one, by namespace and name.
	offered map[relation.End]application.Application
	// unknown has those whose endpoints cannot be read, and outlived those that are offered to an earlier
	// namespace of this one's name.
	unknown, outlived map[relation.End]bool
	// orphans lists the ignored objects of the namespace.
	orphans []application.Fault
}

func newDirectory(namespace string, orphans []application.Fault) directory {
	return directory{
		namespace: namespace, orphans: orphans, apps: map[string]application.Application{}, services: map[string]string{},
		providers: map[string][]application.Application{}, offered: map[relation.End]application.Application{},
		unknown: map[relation.End]bool{}, outlived: map[relation.End]bool{},
	}
}

// enter adds an application of the namespace.
func (d *directory) enter(a application.Application) {
	d.apps[a.Name] = a
	for _, service := range a.Services {
		d.services[service] = a.Name
	}
	seen := map[string]bool{}
	for _, e := range a.Endpoints {
		if e.Role == application.Provider && !seen[e.Interface] {
			seen[e.Interface] = true
			d.providers[e.Interface] = append(d.providers[e.Interface], a)
		}
	}
}

// accept adds an end that another namespace offers, as far as its application has an
// endpoint that provides it.
func (d *directory) accept(e relation.End, endpoints []application.Endpoint) {
	place := relation.End{Namespace: e.Namespace, Application: e.Application}
	offered := d.offered[place]
	offered.Name = e.Application
	for _, endpoint := range endpoints {
		if endpoint.Name == e.Endpoint && endpoint.Role == application.Provider && !slices.Contains(offered.Endpoints, endpoint) {
			offered.Endpoints = append(offered.Endpoints, endpoint)
		}
	}
	d.offered[place] = offered
}

// app returns the application of an end, if it is there; of another namespace with
// what that offers.
func (d *directory) app(e relation.End) (application.Application, bool) {
	if e.Namespace == d.namespace {
		a, there := d.apps[e.Application]
		return a, there
	}
	a, there := d.offered[relation.End{Namespace: e.Namespace, Application: e.Application}]
	_, provided := a.Endpoint(e.Endpoint)
	return a, there && provided
}

// applicationOf returns the application of an end; in another namespace what that offers.
func (d *directory) applicationOf(e relation.End) application.Application {
	if e.Namespace == d.namespace {
		return d.apps[e.Application]
	}
	return d.offered[relation.End{Namespace: e.Namespace, Application: e.Application}]
}

// siteOf returns the endpoint of an end.
func (d *directory) siteOf(e relation.End) site {
	endpoint, _ := d.applicationOf(e).Endpoint(e.Endpoint)
	return site{e, endpoint}
}

// find returns the application that a reference names: its own name, or that
// of a Service which joined it.
func (d *directory) find(ref application.Reference) (application.Application, bool) {
	if a, ok := d.apps[ref.Application]; ok {
		return a, true
	}
	a, ok := d.apps[d.services[ref.Application]]
	return a, ok
}

// noSuch returns why no application has a name: an object of that name is ignored, or there is none, with the
// nearest name.
func (d *directory) noSuch(name string) string {
	for _, o := range d.orphans {
		if _, ignored, _ := strings.Cut(o.Object, "/"); ignored == name {
			return o.Message
		}
	}
	return fmt.Sprintf("no Service or workload named %s in namespace %s%s", name, d.namespace, nearest(name, d.apps))
}

// nearest returns the application whose name is nearest, as a question that follows a sentence; empty
// for none. Names with another first letter are not near: typing mistakes are rare there.
func nearest(name string, apps map[string]application.Application) string {
	near := spelling.Nearest(name, slices.Sorted(maps.Keys(apps)))
	if near == "" || near[0] != name[0] {
		return ""
	}
	return "; did you mean " + near + "?"
}

// absent returns why the application of an end cannot be found; nil if it can. Of
// another namespace only what it offers exists (SAFETY.md M7).
func (d *directory) absent(e relation.End) *relation.Obstacle {
	if e.Namespace != d.namespace {
		application := relation.End{Namespace: e.Namespace, Application: e.Application}
		if d.unknown[application] {
			return &relation.Obstacle{Reason: relation.ReasonUnreadable, Message: unreadableAbroad(e.Namespace, e.Application), Stuck: true}
		}
		if _, offered := d.offered[application]; offered {
			return nil
		}
		reason, message := d.notOffered(application)
		return &relation.Obstacle{Reason: reason, Message: message, Stuck: true}
	}
	if _, there := d.apps[e.Application]; there {
		return nil
	}
	if joined := d.services[e.Application]; joined != "" {
		return &relation.Obstacle{Reason: relation.ReasonNoApplication, Stuck: true, Message: fmt.Sprintf(
			"Service %s belongs to application %s: delete the Relation and create it with application %s", e.Application, joined, joined)}
	}
	return &relation.Obstacle{Reason: relation.ReasonNoApplication, Message: d.noSuch(e.Application)}
}

// retention returns how long a relation is held: as the requirer says, else the provider.
func (d *directory) retention(k relation.Key) time.Duration {
	for _, e := range k.Ends() {
		if a, ok := d.app(e); ok && e.Namespace == d.namespace && a.Retain != application.DefaultRetain {
			return a.Retain
		}
	}
	return application.DefaultRetain
}

// candidates lists the entries that could be written for an endpoint that no entry
// names; it never picks one (SAFETY.md I22).
func (d *directory) candidates(a application.Application, e application.Endpoint) string {
	var all []string
	for _, b := range d.providers[e.Interface] {
		for _, p := range pairs(end{d.namespace, a}, end{d.namespace, b}, application.Reference{Endpoint: e.Name}) {
			all = append(all, p.String())
		}
	}
	if len(all) == 0 {
		return fmt.Sprintf("no provider is named for endpoint %s, and no application here provides %s", e.Name, e.Interface)
	}
	one := ""
	if len(all) > 1 {
		one = "one of "
	}
	return fmt.Sprintf("no provider is named for endpoint %s: add %s%s to %s", e.Name, one, listed(all), application.KeyRelations)
}
