package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// Reading is a ConfigMap or Secret, or one key of it, or a ServiceAccount, without which a
// workload does not start.
type Reading struct {
	ID ID
	// Key is the key that must be in it; empty if its existence is enough.
	Key string
	// Workload is the reader, Field the field that names the object.
	Workload ID
	Field    string
}

// podSpecs are where workloads say what their pods are.
//
//nolint:gochecknoglobals // a table
var podSpecs = map[string][]string{
	"Pod": {"spec"}, "ReplicationController": {"spec", "template", "spec"},
	"Deployment.apps": {"spec", "template", "spec"}, "StatefulSet.apps": {"spec", "template", "spec"},
	"DaemonSet.apps": {"spec", "template", "spec"}, "ReplicaSet.apps": {"spec", "template", "spec"},
	"Job.batch": {"spec", "template", "spec"}, "CronJob.batch": {"spec", "jobTemplate", "spec", "template", "spec"},
}

// Readings returns what the workloads of a sequence read of ConfigMaps and Secrets, but for
// what is optional, and whose rights they have.
func (s Sequence) Readings() []Reading {
	var all []Reading
	for _, item := range s {
		path, known := podSpecs[item.ID.kind()]
		if !known {
			continue
		}
		p := podReadings{workload: item.Origin}
		p.read(Object{"spec": item.Object.At(path...)}, strings.Join(path, "."))
		all = append(all, p.readings...)
	}
	return all
}

// podReadings collects what the pods of one workload read.
type podReadings struct {
	workload ID
	// optional says that what its author can do without counts too.
	optional bool
	readings []Reading
}

func (p *podReadings) read(pod Object, at string) {
	for _, kind := range []string{"initContainers", "containers"} {
		for _, c := range elements(pod.At("spec", kind)) {
			p.container(c, fmt.Sprintf("%s.%s[name=%q]", at, kind, c.Text("name")))
		}
	}
	for _, v := range elements(pod.At("spec", "volumes")) {
		at := fmt.Sprintf("%s.volumes[name=%q]", at, v.Text("name"))
		p.volume(v, at)
		for _, source := range elements(v.At("projected", "sources")) {
			p.volume(source, at+".projected")
		}
	}
	for _, s := range elements(pod.At("spec", "imagePullSecrets")) {
		p.add("Secret", s, "name", at+"."+pullSecrets)
	}
	p.add("ServiceAccount", pod.below("spec"), account, at+"."+account)
}

const (
	pullSecrets = "imagePullSecrets"
	account     = "serviceAccountName"
)

func (p *podReadings) container(c Object, at string) {
	for _, v := range elements(c.At("env")) {
		at := fmt.Sprintf("%s.env[name=%q]", at, v.Text("name"))
		p.add("ConfigMap", v.below("valueFrom", "configMapKeyRef"), "name", at)
		p.add("Secret", v.below("valueFrom", "secretKeyRef"), "name", at)
	}
	for _, f := range elements(c.At("envFrom")) {
		p.add("ConfigMap", f.below("configMapRef"), "name", at+"."+envFrom)
		p.add("Secret", f.below("secretRef"), "name", at+"."+envFrom)
	}
}

const envFrom = "envFrom"

// volume reads a volume, or one source of a projected one, whose Secret is named otherwise.
func (p *podReadings) volume(v Object, at string) {
	p.add("ConfigMap", v.below("configMap"), "name", at)
	p.add("Secret", v.below("secret"), "secretName", at)
	p.add("Secret", v.below("secret"), "name", at)
}

// add adds what a reference names: a key, the keys of its items, or the whole object.
func (p *podReadings) add(kind string, reference Object, name, field string) {
	if reference["optional"] == true && !p.optional || reference.Text(name) == "" {
		return
	}
	r := Reading{ID: ID{Kind: kind, Namespace: p.workload.Namespace, Name: reference.Text(name)}, Key: reference.Text("key"), Workload: p.workload, Field: field}
	items := elements(reference.At("items"))
	if len(items) == 0 {
		p.readings = append(p.readings, r)
	}
	for _, i := range items {
		r.Key = i.Text("key")
		p.readings = append(p.readings, r)
	}
}

// below is the object at a path of names; empty if there is none.
func (o Object) below(path ...string) Object {
	fields, _ := o.At(path...).(map[string]any)
	return fields
}

// makers lists kinds whose objects make a Secret, and the fields with its name: the first field with a value counts.
//
//nolint:gochecknoglobals // a table
var makers = map[string][][]string{
	"Certificate.cert-manager.io":        {{"spec", "secretName"}},
	"ExternalSecret.external-secrets.io": {{"spec", "target", "name"}, {"metadata", "name"}},
	"SealedSecret.bitnami.com":           {{"spec", "template", "metadata", "name"}, {"metadata", "name"}},
}

// given says what the cluster itself puts into each namespace.
func given(id ID) bool {
	return id.Kind == "ConfigMap" && id.Name == "kube-root-ca.crt" || id.Kind == "ServiceAccount" && id.Name == "default"
}

// making finds the items of a sequence that make an object while it is installed, by the object's kind and name.
type making struct {
	items  Sequence
	places map[ID][]int
}

// making returns the items that make others.
func (s Sequence) making() making {
	m := making{s, map[ID][]int{}}
	for i, item := range s {
		for _, id := range products(item) {
			m.places[id] = append(m.places[id], i)
		}
	}
	return m
}

// of returns the places of the items that make an object.
func (m making) of(id ID) []int {
	return slices.DeleteFunc(slices.Clone(m.places[ID{Kind: id.Kind, Name: id.Name}]), func(i int) bool { return !m.items[i].makes(id) })
}

// gives reports whether an object is there once the sequence is installed, although the sequence does not have it.
func (m making) gives(id ID) bool { return given(id) || len(m.of(id)) > 0 }

// products are the kinds and names of the objects that an item may make, each once.
func products(i Item) []ID {
	targets, _ := ParseAfter(i.Object.Annotation(MakesKey)) // Order has refused what cannot be read
	all := []ID{}
	if i.ID.kind() == "Secret" {
		all = append(all, ID{Kind: i.ID.Kind, Name: i.ID.Name})
	}
	for _, path := range makers[i.ID.kind()] {
		all = append(all, ID{Kind: "Secret", Name: i.Object.Text(path...)})
	}
	for _, t := range targets {
		all = append(all, ID{Kind: t.Kind, Name: t.Name})
	}
	slices.SortFunc(all, ID.Compare)
	return slices.Compact(all)
}

func (i Item) makes(id ID) bool {
	targets, _ := ParseAfter(i.Object.Annotation(MakesKey)) // Order has refused what cannot be read
	if slices.ContainsFunc(targets, func(t Target) bool { return t.fits(id, i.Origin) }) {
		return true
	}
	if id.Kind != "Secret" || id.Namespace != i.ID.Namespace {
		return false
	}
	if i.ID == id { // it is filled by the cluster
		return i.Object.Text("type") == "kubernetes.io/service-account-token"
	}
	for _, path := range makers[i.ID.kind()] {
		if name := i.Object.Text(path...); name != "" {
			return name == id.Name
		}
	}
	return false
}
