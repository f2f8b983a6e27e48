package application

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Application is a workload with its Services, or a Service without pods.
type Application struct {
	Name string
	// Services that join it: aliases, addresses, places for declarations.
	Services []string
	// Workloads of it, by kind and name.
	Workloads []Workload
	Endpoints []Endpoint
	Relations []Reference
	// Bags holds, for each endpoint, the application bag that needs no code:
	// what the Service gives, overlaid by data.tengu.io (SAFETY.md V5).
	Bags map[string]map[string]string
	// Secrets names, for each endpoint, the Secret that is granted by it.
	Secrets map[string]string
	// Env lists, for each endpoint, further keys wanted as variables.
	Env map[string][]string
	// OnChange is Restart if any of its objects says so.
	OnChange OnChange
	// Ungated is set if one of its workloads starts without waiting.
	Ungated bool
	// Stale is set if one of its workloads starts with a copy of its data while Orcon is away.
	Stale bool
	// Retain is DefaultRetain unless one of its objects says otherwise.
	Retain time.Duration
	// Pods that are its units, in order of creation, then name.
	Pods []Pod
	// Faults lists the errors of its declarations, each with its object.
	Faults []Fault
}

// Fault is a problem and the object that has it.
type Fault struct {
	// Application is the name of the application that the object belongs to, or would belong to if it were not
	// ignored.
	Application string
	// Object is written as kind/name, for example Service/db.
	Object string
	// Reason is one word for programs.
	Reason string
	// Message is one sentence that a person can act on.
	Message string
	// Pods are the pods of an ignored workload that have an agent, at most mostIgnoredPods.
	Pods []string
	// Created is when an ignored object was created.
	Created time.Time
}

// Consumes reports whether it requires anything of others.
func (a Application) Consumes() bool {
	return slices.ContainsFunc(a.Endpoints, func(e Endpoint) bool { return e.Role == Requirer })
}

// OptedOut reports whether it consumes and all of its workloads opt out of injection, so
// that its pods get no agent and no data.
func (a Application) OptedOut() bool {
	return a.Consumes() && len(a.Workloads) > 0 && !slices.ContainsFunc(a.Workloads, func(w Workload) bool { return !w.OptedOut() })
}

// TakesPart reports whether it declares an endpoint or a relation.
func (a Application) TakesPart() bool { return len(a.Endpoints) > 0 || len(a.Relations) > 0 }

// Endpoint returns the endpoint of that name.
func (a Application) Endpoint(name string) (Endpoint, bool) {
	return Declaration{Endpoints: a.Endpoints}.Endpoint(name)
}

// The reasons of faults.
const (
	ReasonInvalid   = "InvalidDeclaration"
	ReasonNameTaken = "NameTaken"
	ReasonDot       = "DotInName"
	ReasonLong      = "LongName"
	ReasonAmbiguous = "SelectsSeveral"
	ReasonNoPods    = "SelectsNothing"
)

// Gather finds the applications of a namespace, in order of name. Equal inventories give equal applications, whatever
// the order of their objects. A name belongs to the earliest object that is called so, of several of one second to the
// first by kind, a Service last (SAFETY.md A1). It returns second the objects that declare something and are ignored, with the reason.
func Gather(in Inventory) (applications []Application, orphans []Fault) {
	services := sortObjects(in.Services, func(s Service) Object { return s.Object })
	g := gathering{namespace: in.Namespace, byName: map[string]*Application{}, owner: map[string]string{}, alone: map[string]Service{},
		written: map[string]string{}, derived: map[[2]string]bool{}, ignored: map[string]int{}, nameless: map[[2]string]nameless{}}
	g.claims(services)
	g.workloads(withImplied(in))
	g.index()
	g.services(services)
	g.pods(in.Pods)
	for _, name := range sortedKeys(g.byName) {
		app := g.byName[name]
		app.checkBags()
		applications = append(applications, *app)
	}
	return applications, g.orphans
}

type gathering struct {
	namespace string
	byName    map[string]*Application
	// owner maps kind/name of a workload to its application.
	owner map[string]string
	// written has the name that the template of a workload has written, by kind/name.
	written map[string]string
	// alone maps names to the Services without pods that declare something.
	alone map[string]Service
	// labelled lists, for each label of a pod template, the applications that have it, in order.
	labelled map[[2]string][]string
	// derived holds the application and endpoint of each bag that has its derived layer.
	derived map[[2]string]bool
	orphans []Fault
	// ignored maps kind/name of an ignored object to its place in orphans.
	ignored map[string]int
	// nameless has, for each label of a pod template, the first workload with it that cannot be an application.
	nameless map[[2]string]nameless
}

// claims notes the Services that may be applications of their own: one that
// declares something keeps its name when a workload comes later.
func (g *gathering) claims(services []Service) {
	for _, s := range services {
		if declared, _ := Parse(s.Labels, s.Annotations); s.withoutPods() && !declared.Empty() {
			g.alone[s.Name] = s
		}
	}
}

// withImplied adds the workloads that are known by their pods only: bare pods, and pods of controllers of another kind.
func withImplied(in Inventory) []Workload {
	known := map[string]bool{}
	for _, w := range in.Workloads {
		known[id(w.Kind, w.Name)] = true
	}
	workloads := slices.Clone(in.Workloads)
	for _, p := range sortObjects(in.Pods, func(p Pod) Object { return p.Object }) {
		if known[id(p.OwnerKind, p.OwnerName)] || p.Finished {
			continue
		}
		known[id(p.OwnerKind, p.OwnerName)] = true
		w := Workload{Kind: p.OwnerKind, TemplateLabels: p.Labels, TemplateAnnotations: p.Annotations}
		w.Name, w.UID, w.Created = p.OwnerName, p.UID, p.Created
		workloads = append(workloads, w)
	}
	// A workload has its own name before those that are given it. Times of creation have whole seconds: between two of them
	// the kind decides, for ever, and not the UID, which chance gives.
	own := func(w Workload) int {
		return min(0, slices.Index([]string{"", w.Name}, w.TemplateAnnotations[KeyApplication]))
	}
	slices.SortStableFunc(workloads, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(own(b), own(a)), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind.rank(), b.Kind.rank()), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.UID, b.UID))
	})
	return workloads
}

func id(kind WorkloadKind, name string) string { return string(kind) + "/" + name }

func sortObjects[T any](all []T, object func(T) Object) []T {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b T) int {
		x, y := object(a), object(b)
		return cmp.Or(x.Created.Compare(y.Created), cmp.Compare(x.Name, y.Name), cmp.Compare(x.UID, y.UID))
	})
	return sorted
}

func (g *gathering) workloads(workloads []Workload) {
	for _, w := range workloads {
		declared, problems := w.declaration()
		object, name := id(w.Kind, w.Name), cmp.Or(declared.Application, w.Name)
		takesPart := !declared.Empty() || len(declared.Data)+len(declared.Secrets) > 0
		if reason, why := unnamable(name); reason != "" {
			g.noteNameless(w, reason, why)
			if takesPart {
				g.ignore(name, object, reason, w.Created, why)
			}
			continue
		}
		if holder := g.holder(name, w, declared); holder != "" {
			if takesPart {
				g.ignore(name, object, ReasonNameTaken, w.Created,
					fmt.Sprintf("the name %s belongs to %s; set %s on the pod template of one of them", name, written(holder), KeyApplication))
			}
			continue
		}
		if g.byName[name] == nil {
			g.byName[name] = &Application{Name: name, OnChange: Files, Retain: DefaultRetain}
		}
		g.owner[object], g.written[object] = name, w.TemplateAnnotations[KeyApplication]
		g.byName[name].add(w, declared)
		g.byName[name].take(object, declared, problems)
	}
}

// add adds a workload to the application.
func (a *Application) add(w Workload, declared Declaration) {
	a.Workloads = append(a.Workloads, w)
	a.Ungated, a.Stale = a.Ungated || declared.Ungated, a.Stale || declared.Stale
}

// holder returns the object that has a workload's name already; empty if the workload may have it. Workloads share a
// name only where an annotation asks for it; a Service without pods shares its name with none.
func (g *gathering) holder(name string, w Workload, declared Declaration) string {
	app, taken := g.byName[name]
	s, alone := g.alone[name]
	switch {
	case taken && declared.Application == "":
		return id(app.Workloads[0].Kind, app.Workloads[0].Name)
	case !taken && alone && s.Created.Before(w.Created):
		return "Service/" + name
	default:
		return ""
	}
}

// take adds what one object declares.
func (a *Application) take(object string, d Declaration, problems []Problem) {
	for _, p := range problems {
		if !p.Warning {
			a.fault(object, "%s: %v", object, p)
		}
	}
	a.takeEndpoints(object, d.Endpoints)
	for _, r := range d.Relations {
		if !slices.Contains(a.Relations, r) {
			a.Relations = append(a.Relations, r)
		}
	}
	for _, endpoint := range sortedKeys(d.Data) {
		a.overlay(endpoint, d.Data[endpoint])
	}
	a.takeSecrets(object, d.Secrets)
	if a.Env == nil && len(d.Env) > 0 {
		a.Env = map[string][]string{}
	}
	maps.Copy(a.Env, d.Env)
	if d.OnChange == Restart {
		a.OnChange = Restart
	}
	if d.Retain != DefaultRetain {
		a.Retain = d.Retain
	}
}

// fault notes what is wrong with the declaration of an object.
func (a *Application) fault(object, format string, args ...any) {
	a.Faults = append(a.Faults, Fault{Application: a.Name, Object: object, Reason: ReasonInvalid, Message: fmt.Sprintf(format, args...)})
}

func (a *Application) takeEndpoints(object string, endpoints []Endpoint) {
	for _, e := range endpoints {
		there, ok := a.Endpoint(e.Name)
		switch {
		case !ok:
			a.Endpoints = append(a.Endpoints, e)
		case there != e:
			a.fault(object, "%s: another object of application %q declares endpoint %q differently; declare it once", object, a.Name, e.Name)
		}
	}
}

// takeSecrets notes which Secrets are granted. An endpoint grants one: a second name is a fault.
func (a *Application) takeSecrets(object string, secrets map[string]string) {
	if a.Secrets == nil && len(secrets) > 0 {
		a.Secrets = map[string]string{}
	}
	for _, endpoint := range sortedKeys(secrets) {
		if there, ok := a.Secrets[endpoint]; ok && there != secrets[endpoint] {
			a.fault(object, "%s: %s%s: another object of application %q names Secret %s; name one Secret", object, PrefixSecret,
				endpoint, a.Name, there)
			continue
		}
		a.Secrets[endpoint] = secrets[endpoint]
	}
}

// overlay puts a layer on an endpoint's bag; an empty value deletes the key (RELATIONS.md P3).
func (a *Application) overlay(endpoint string, layer map[string]string) {
	if a.Bags == nil {
		a.Bags = map[string]map[string]string{}
	}
	if a.Bags[endpoint] == nil {
		a.Bags[endpoint] = map[string]string{}
	}
	bag := a.Bags[endpoint]
	maps.Copy(bag, layer)
	maps.DeleteFunc(bag, func(_, v string) bool { return v == "" })
}

// checkBags finds data and Secrets for endpoints that the application does not declare, and refuses data that together
// exceed a databag.
func (a *Application) checkBags() {
	undeclared := func(prefix, endpoint, what string) {
		if _, ok := a.Endpoint(endpoint); !ok {
			a.fault(a.Name, "%s%s: application %q declares no endpoint %q; declare it, or remove the %s", prefix, endpoint, a.Name, endpoint, what)
		}
	}
	for _, endpoint := range sortedKeys(a.Bags) {
		undeclared(PrefixData, endpoint, "data")
		if b := databag.CheckSize(a.Bags[endpoint]); b != nil {
			a.fault(a.Name, "%s%s: the data of all objects of application %q together: %s: %s", PrefixData, endpoint, a.Name, b.Reason, b.Cure)
			delete(a.Bags, endpoint)
		}
	}
	for _, endpoint := range sortedKeys(a.Secrets) {
		undeclared(PrefixSecret, endpoint, "Secret")
	}
}

func (g *gathering) services(services []Service) {
	for _, s := range services {
		app := g.applicationOf(s)
		if app == nil {
			continue
		}
		app.Services = append(app.Services, s.Name)
		declared, problems := Parse(s.Labels, s.Annotations)
		for _, e := range declared.Endpoints {
			g.derive(app, e, s)
		}
		app.take("Service/"+s.Name, declared, problems)
	}
}

// derive puts what a Service says by itself under the bag of an endpoint that it provides. The earliest Service gives
// all of it, or host and port would be of two; data that a workload gave before stays above.
func (g *gathering) derive(app *Application, e Endpoint, s Service) {
	there, known := app.Endpoint(e.Name)
	endpoint := [2]string{app.Name, e.Name}
	if e.Role != Provider || known && there.Role != Provider || g.derived[endpoint] {
		return
	}
	g.derived[endpoint] = true
	above := maps.Clone(app.Bags[e.Name])
	app.overlay(e.Name, derive(s, g.namespace))
	app.overlay(e.Name, above)
}

// applicationOf returns the application that a Service joins or is, or nil if it is ignored.
func (g *gathering) applicationOf(s Service) *Application {
	object := "Service/" + s.Name
	declared, _ := Parse(s.Labels, s.Annotations)
	if s.withoutPods() {
		return g.own(s, !declared.Empty())
	}
	selected := g.selected(s.Selector)
	switch {
	case len(selected) == 1:
		return g.byName[selected[0]]
	case declared.Empty():
	case len(selected) == 0:
		reason, why := g.unselected(s.Selector)
		g.ignore(s.Name, object, reason, s.Created, why)
	default:
		g.ignore(s.Name, object, ReasonAmbiguous, s.Created,
			fmt.Sprintf("it selects %s; narrow its selector, or set %s to one name on each", listed(selected), KeyApplication))
	}
	return nil
}

// withoutPods reports whether the Service selects nothing and never will.
func (s Service) withoutPods() bool { return len(s.Selector) == 0 || s.ExternalName != "" }

// index notes which applications have which label: ten thousand Services need not look at ten thousand workloads each.
func (g *gathering) index() {
	g.labelled = map[[2]string][]string{}
	for _, name := range sortedKeys(g.byName) {
		for _, w := range g.byName[name].Workloads {
			for k, v := range w.TemplateLabels {
				label := [2]string{k, v}
				if all := g.labelled[label]; len(all) == 0 || all[len(all)-1] != name {
					g.labelled[label] = append(all, name)
				}
			}
		}
	}
}

// selected returns the applications that a selector selects, in order of name.
func (g *gathering) selected(selector map[string]string) []string {
	var few []string
	first := true
	for k, v := range selector {
		if all := g.labelled[[2]string{k, v}]; first || len(all) < len(few) {
			few, first = all, false
		}
	}
	return slices.DeleteFunc(slices.Clone(few), func(name string) bool {
		return !slices.ContainsFunc(g.byName[name].Workloads, func(w Workload) bool { return Selects(selector, w.TemplateLabels) })
	})
}

// own makes a Service without pods an application of its own.
func (g *gathering) own(s Service, takesPart bool) *Application {
	if there, taken := g.byName[s.Name]; taken {
		if takesPart {
			holder := id(there.Workloads[0].Kind, there.Workloads[0].Name)
			g.ignore(s.Name, "Service/"+s.Name, ReasonNameTaken, s.Created,
				fmt.Sprintf("the name %s belongs to %s; rename one of them", s.Name, written(holder)))
		}
		return nil
	}
	app := &Application{Name: s.Name, OnChange: Files, Retain: DefaultRetain}
	g.byName[s.Name] = app
	return app
}

// Selects reports whether every label of the selector is among labels.
func Selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if have, ok := labels[k]; !ok || have != v {
			return false
		}
	}
	return len(selector) > 0
}

func (g *gathering) pods(pods []Pod) {
	for _, p := range sortObjects(pods, func(p Pod) Object { return p.Object }) {
		owner := id(p.OwnerKind, p.OwnerName)
		name, known := g.owner[owner]
		switch i, ignored := g.ignored[owner]; {
		case p.Finished:
		case known && p.Annotations[KeyApplication] != name && p.Annotations[KeyApplication] != g.written[owner]: // of another name
		case known:
			g.byName[name].Pods = append(g.byName[name].Pods, p)
		case ignored && p.OwnerKind != BarePod && p.Injected && !p.Ending && len(g.orphans[i].Pods) < mostIgnoredPods:
			g.orphans[i].Pods = append(g.orphans[i].Pods, p.Name)
		}
	}
}

// derive returns what a Service says by itself: host, port, ports and url
// (RELATIONS.md, Declarations). Without a port there is only the host.
func derive(s Service, namespace string) map[string]string {
	bag := map[string]string{"host": cmp.Or(s.ExternalName, s.Name+"."+namespace+".svc")}
	if len(s.Ports) == 0 {
		return bag
	}
	var ports []string
	for _, p := range s.Ports {
		ports = append(ports, strings.TrimPrefix(p.Name+"="+strconv.Itoa(p.Number), "="))
	}
	first := s.Ports[0]
	bag["port"] = strconv.Itoa(first.Number)
	bag["ports"] = strings.Join(ports, ",")
	bag["url"] = scheme(first) + "://" + bag["host"] + ":" + bag["port"]
	return bag
}

// scheme is the port's application protocol, or what its name or number say.
func scheme(p Port) string {
	for _, known := range []string{"https", "http", "grpc", "postgresql", "mysql", "redis", "amqp", "mqtt", "mongodb", "ldap", "smtp"} {
		if p.Protocol == known || p.Name == known || strings.HasPrefix(p.Name, known+"-") {
			return known
		}
	}
	switch p.Number {
	case 80:
		return "http"
	case 443:
		return "https"
	default:
		return "tcp"
	}
}
