package bundle

import (
	"fmt"
	"strings"
	"time"
)

// Live is the state of one object, read from the API server itself: a cache of labelled objects
// would miss others (BUNDLES.md 5).
type Live struct {
	// Object is nil where there is none.
	Object Object
	// NoAPI reports that the server does not know the kind.
	NoAPI bool
	// Changes are those that applying would make, by a dry run; empty also without one.
	Changes []Change
	// Fields are all that applying would set, with their present values.
	Fields []OriginalField
	// Immutable is the server's reason to refuse the change in place.
	Immutable string

	// Health does not count for Jobs, whose own conditions do.
	Health Health
	// Serving reports that a Service answers: it has an available workload and at least one ready
	// endpoint, or selects nothing.
	Serving bool
	// Says is why it is not healthy or not serving, or why its last write was refused: a
	// sentence, or words that begin with "is" and follow the object's name.
	Says string
	// Log is the one to read about what it says.
	Log Log
	// Since is since when that has been so, and the last progress. Zero: no deadline.
	Since time.Time
	// Restarts is the highest count of crashes of a container that is applied now.
	Restarts int
	// Used are objects of others that exist only with it, those of a definition, or that only it can
	// end. It is not deleted while there are any.
	Used []Use
}

// Health is the health of an object.
type Health string

// The kinds of health.
const (
	Ready      Health = "Ready"
	InProgress Health = "InProgress"
	// Failing objects report a failure that may pass: it ends a run when it has lasted for Lasting.
	Failing Health = "Failing"
	// Broken objects will not become healthy.
	Broken Health = "Failed"
	// Unknown objects report nothing against their health, and nothing for it. They count as healthy
	// when time is up (CONTENT.md H5).
	Unknown Health = "Unknown"
)

// Lasting is the time after which a failure that is reported unchanged ends a run (CONTENT.md H5).
const Lasting = time.Minute

// Situation is the relation of an object to a deployment.
type Situation string

// The situations.
const (
	Absent Situation = "Absent"
	// Ours marks objects that this deployment made or took.
	Ours Situation = "Ours"
	// Unowned marks objects that no program claims.
	Unowned Situation = "Unowned"
	// Foreign marks objects of another program or a controller.
	Foreign Situation = "Foreign"
	// Another marks objects of another deployment.
	Another Situation = "Another"
)

// foreign are the annotations and labels by which other programs mark their objects.
//
//nolint:gochecknoglobals // a table
var foreign = []struct{ place, key, program string }{
	{"annotations", "meta.helm.sh/release-name", "Helm release"},
	{"annotations", "argocd.argoproj.io/tracking-id", "Argo CD application"},
	{"labels", "kustomize.toolkit.fluxcd.io/name", "Flux Kustomization"},
	{"labels", "helm.toolkit.fluxcd.io/name", "Flux HelmRelease"},
	{"labels", "olm.owner", "OLM owner"},
	{"annotations", qontractIntegration, "Qontract integration"},
	{"annotations", qontractCaller, "Qontract caller"},
}

// Situation returns the object's situation as seen by a deployment (namespace/name), and the
// name of the program that manages it, where another one does.
func (l Live) Situation(owner string) (situation Situation, holder string) {
	if l.Object == nil {
		return Absent, ""
	}
	if by := controllerOf(l.Object); by != "" {
		return Foreign, "controller " + by
	}
	switch mark := l.Object.Annotation(OwnerKey); mark {
	case "":
	case owner:
		return Ours, ""
	default:
		return Another, "deployment " + mark
	}
	for _, f := range foreign {
		if name := l.Object.Text("metadata", f.place, f.key); name != "" {
			return Foreign, f.program + " " + name
		}
	}
	return Unowned, ""
}

// controllerOf names the object that controls another, as Kind name; empty for none.
func controllerOf(o Object) string {
	for _, reference := range elements(o.At("metadata", "ownerReferences")) {
		if reference["controller"] == true {
			return reference.Text("kind") + " " + reference.Text("name")
		}
	}
	return ""
}

// managedBy describes whose an object is, in words that follow its name.
func managedBy(holder string) string {
	if holder == "" {
		return "is not managed by Orcon"
	}
	return "is managed by " + holder
}

// leaving reports whether the object is being deleted.
func (l Live) leaving() bool { return l.Object.Text("metadata", "deletionTimestamp") != "" }

// ending describes what the deletion of an object waits for.
func (l Live) ending() string {
	var finalizers []string
	for _, f := range list(l.Object.At("metadata", "finalizers")) {
		finalizers = append(finalizers, fmt.Sprint(f))
	}
	if len(finalizers) == 0 {
		return "is being deleted"
	}
	return "is being deleted and waits for finalizers " + strings.Join(finalizers, ", ")
}

// uid returns the object's UID.
func (l Live) uid() string { return l.Object.Text("metadata", "uid") }
