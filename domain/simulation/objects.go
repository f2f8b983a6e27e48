package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

func workloadKey(kind application.WorkloadKind, name string) string { return string(kind) + "/" + name }

func apply(w *world, s step) error {
	if err := w.apply(s.words["FILE"]); err != nil {
		return err
	}
	return w.rest()
}

func refuseApply(w *world, s step) error {
	err := w.apply(s.words["FILE"])
	if err == nil {
		return errors.New("it was admitted")
	}
	if len(s.expected) == 0 {
		return nil
	}
	return s.compare([]string{err.Error()})
}

// apply admits the objects of a file, one after the other, a moment apart: the
// earlier one has a name that both want (SAFETY.md A1).
func (w *world) apply(file string) error {
	text, err := w.scenario.file(file)
	if err != nil {
		return err
	}
	objects, leftOut, err := readManifests(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, name := range leftOut {
		w.tell(w.now, "%s is left out: a simulation has no such kind", name)
	}
	for _, o := range objects {
		if err := w.admit(o); err != nil {
			return err
		}
		w.now = w.now.Add(time.Millisecond)
	}
	return nil
}

// admit does what the webhook for Services and workloads does, and stores the
// object; a workload's pods follow.
func (w *world) admit(o object) error {
	meta := o.workload.Object
	if o.kind == "Service" {
		meta = o.service.Object
	}
	_, problems := application.Parse(meta.Labels, meta.Annotations)
	if err := application.Refusals(problems); err != nil {
		return err
	}
	for _, p := range problems {
		w.tell(w.now, "%s %s: %v", o.kind, o.name, p)
	}
	if o.kind == "Service" {
		before := w.services[o.name]
		o.service.Object = w.identity("Service", before.Object, o.service.Object)
		w.services[o.name] = o.service
		return nil
	}
	return w.admitWorkload(o.workload)
}

// identity gives an object what it had before, or a new UID and the time.
func (w *world) identity(kind string, before, after application.Object) application.Object {
	after.UID, after.Created = before.UID, before.Created
	if before.UID == "" {
		after.UID, after.Created = w.uid(kind), w.now
	}
	return after
}

func (w *world) admitWorkload(o application.Workload) error {
	var services []injection.Service
	for _, s := range values(w.services) {
		services = append(services, injection.Service{Name: s.Name, Selector: s.Selector, Annotations: s.Annotations})
	}
	path := "/spec/template"
	if w.optedIn && o.Kind != application.BarePod {
		var told []application.Problem
		o.TemplateAnnotations, _, told = injection.Copies(injection.Workload{
			Metadata: injection.Metadata{Name: o.Name, Namespace: namespace, Annotations: o.Annotations},
			Template: injection.Shape{Metadata: injection.Metadata{Labels: o.TemplateLabels, Annotations: o.TemplateAnnotations}},
			Path:     path,
		}, services)
		for _, p := range told {
			w.tell(w.now, "%s %s: %v", o.Kind, o.Name, p)
		}
	}
	key := workloadKey(o.Kind, o.Name)
	o.Object = w.identity(string(o.Kind), w.workloads[key].Object, o.Object)
	w.workloads[key] = o
	return w.replicas(key, o.Replicas)
}

// replicas makes and deletes pods until a workload has so many: a StatefulSet's
// highest first, another's latest.
func (w *world) replicas(key string, want int) error {
	o := w.workloads[key]
	o.Replicas = want
	w.workloads[key] = o
	for {
		pods := w.podsOf(o)
		switch {
		case len(pods) < want:
			if err := w.makePod(o); err != nil {
				return err
			}
		case len(pods) > want:
			w.deletePod(pods[len(pods)-1], true)
		default:
			return nil
		}
	}
}

// podsOf returns the pods of a workload, in the order in which they were made.
func (w *world) podsOf(o application.Workload) []application.Pod {
	var all []application.Pod
	for _, p := range w.pods {
		if p.OwnerKind == o.Kind && p.OwnerName == o.Name {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b application.Pod) int { return w.agents[a.UID].order - w.agents[b.UID].order })
	return all
}

// makePod makes one pod, as its controller and the webhook for pods do.
func (w *world) makePod(o application.Workload) error {
	number := w.uids + 1
	p := application.Pod{OwnerKind: o.Kind, OwnerName: o.Name, Ordinal: -1, Address: "10.0.0." + strconv.Itoa(number)}
	p.Name = o.Name + "-" + strconv.Itoa(number)
	order := number
	if o.Kind == application.StatefulSet {
		for p.Ordinal = 0; ; p.Ordinal++ {
			p.Name, order = o.Name+"-"+strconv.Itoa(p.Ordinal), p.Ordinal
			if _, taken := w.pods[p.Name]; !taken {
				break
			}
		}
	}
	if o.Kind == application.BarePod {
		p.Name = o.Name
	}
	p.UID, p.Created = w.uid("pod"), w.now
	p.Labels, p.Annotations = maps.Clone(o.TemplateLabels), maps.Clone(o.TemplateAnnotations)
	if err := w.injected(&p, o); err != nil {
		return err
	}
	w.pods[p.Name] = p
	name := o.Name
	if declared := p.Annotations[application.KeyApplication]; declared != "" {
		name = declared
	}
	a := &agent{application: name, pod: p.Name, podUID: p.UID, order: order, disk: []byte("{}"), left: map[conversation.EndAnswer]bool{}}
	a.handles = p.Injected && application.HearsOfEvents(p.Annotations)
	a.batch = p.Annotations[application.KeyBatch] == "true"
	w.agents[p.UID] = a
	w.tell(w.now, "pod %s comes", p.Name)
	return nil
}

// injected asks the webhook for pods what a pod gets.
func (w *world) injected(p *application.Pod, o application.Workload) error {
	if !w.optedIn {
		return nil
	}
	shape := injection.Shape{Metadata: injection.Metadata{Name: p.Name, Namespace: namespace, Labels: p.Labels, Annotations: p.Annotations}}
	if o.Kind != application.BarePod {
		shape.Metadata.OwnerReferences = []injection.Owner{{Kind: string(o.Kind), Name: o.Name, Controller: true}}
	}
	d := injection.For(injection.Settings{Config: injection.DefaultConfig(), Namespace: "orcon-system"}, namespace, &shape)
	if d.Refused != nil {
		return fmt.Errorf("pod %s is refused: %w", p.Name, d.Refused)
	}
	p.Injected = d.Injection != nil
	return nil
}

// deletePod takes a pod away; its agent resigns if it is asked to end.
func (w *world) deletePod(p application.Pod, asked bool) {
	if a := w.agents[p.UID]; a != nil && asked && a.leads(w.now) {
		w.lead(a, true)
	}
	delete(w.pods, p.Name)
	delete(w.agents, p.UID)
	w.tell(w.now, "pod %s goes", p.Name)
}

func deleteObject(w *world, s step) error {
	kind, name := s.words["KIND"], s.words["NAME"]
	key := workloadKey(application.WorkloadKind(kind), name)
	o, isWorkload := w.workloads[key]
	_, isService := w.services[name]
	switch {
	case kind == "Service" && isService:
		delete(w.services, name)
	case isWorkload:
		for _, p := range w.podsOf(o) {
			w.deletePod(p, true)
		}
		delete(w.workloads, key)
	default:
		return fmt.Errorf("there is no %s %s%s", kind, name, suggestion(kind, kinds()))
	}
	return w.rest()
}

func optOut(w *world, _ step) error {
	w.optedIn = false
	return w.rest()
}

func optIn(w *world, _ step) error {
	w.optedIn = true
	return w.rest()
}

// workloadNamed returns the key of the one workload of a name.
func (w *world) workloadNamed(name string) (string, error) {
	var names []string
	for _, key := range sortedKeys(w.workloads) {
		if w.workloads[key].Name == name {
			return key, nil
		}
		names = append(names, w.workloads[key].Name)
	}
	return "", fmt.Errorf("there is no workload %s%s", name, suggestion(name, names))
}

func scale(w *world, s step) error {
	key, err := w.workloadNamed(s.words["NAME"])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(s.words["REPLICAS"])
	if err != nil || n < 0 || n > 1000 {
		return fmt.Errorf("%q is not a number of pods from 0 to 1000", s.words["REPLICAS"])
	}
	if err := w.replicas(key, n); err != nil {
		return err
	}
	return w.rest()
}

func up(w *world, s step) error {
	key, err := w.workloadNamed(s.words["NAME"])
	if err != nil {
		return err
	}
	if err := w.makePod(w.workloads[key]); err != nil {
		return err
	}
	return w.rest()
}

func down(w *world, s step) error { return w.goes(s, true) }
func kill(w *world, s step) error { return w.goes(s, false) }

// goes takes the pod of a unit away, and leaves the workload's replicas as they
// are.
func (w *world) goes(s step, asked bool) error {
	p, err := w.podOf(s)
	if err != nil {
		return err
	}
	w.deletePod(p, asked)
	return w.rest()
}

// terminate gives a pod the time that its handlers have while it ends.
func terminate(w *world, s step) error {
	p, err := w.podOf(s)
	if err != nil {
		return err
	}
	p.Ending = true
	w.pods[p.Name] = p
	w.tell(w.now, "pod %s begins to end", p.Name)
	return w.rest()
}

// podOf returns the pod of a unit, which must be there.
func (w *world) podOf(s step) (application.Pod, error) {
	a, err := w.unit(s.words["UNIT"])
	if err != nil {
		return application.Pod{}, err
	}
	p, there := w.pods[a.pod]
	if !there || p.UID != a.podUID {
		return application.Pod{}, fmt.Errorf("the pod of %s has gone already", s.words["UNIT"])
	}
	return p, nil
}

func replace(w *world, s step) error {
	p, err := w.podOf(s)
	if err != nil {
		return err
	}
	if err := w.goes(s, true); err != nil {
		return err
	}
	if err := w.makePod(w.workloads[workloadKey(p.OwnerKind, p.OwnerName)]); err != nil {
		return err
	}
	return w.rest()
}

// living returns the agent of a unit that is there.
func (w *world) living(s step) (*agent, error) {
	a, err := w.unit(s.words["UNIT"])
	if err == nil && w.agents[a.podUID] != a {
		err = fmt.Errorf("the pod of %s has gone", s.words["UNIT"])
	}
	return a, err
}
