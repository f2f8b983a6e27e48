package bundle

import (
	"fmt"
	"strings"
	"time"
)

// Live is what the cluster has of one object, read from the API server itself: what a
// cache of labelled objects does not show is there all the same (BUNDLES.md 5).
type Live struct {
	// Object is nil where there is none.
	Object Object
	// NoAPI says that the server does not know the kind.
	NoAPI bool
	// Changes are what applying would change, by a dry run. Empty also where nobody asked.
	Changes []Change
	// Immutable is why the server refuses the change in place, in its words.
	Immutable string

	// Health is how it is; for a Job its own conditions count instead.
	Health Health
	// Serving says of a Service that it answers: an available workload and at least one
	// ready endpoint, or nothing that it selects.
	Serving bool
	// Says is why it is not healthy or not serving, or why its last write was refused: a
	// sentence, or words that begin with "is" and follow the object's name.
	Says string
	// Since is since when that has been so, and the last progress. Zero: no deadline.
	Since time.Time
	// Restarts is how often a container of what is applied now has crashed, at most.
	Restarts int
	// Used are what only it holds and what is of somebody else: the objects of a
	// definition, what is in a namespace. It is not deleted while there is any.
	Used []Use
}

// Health is how an object is.
type Health string

// The kinds of health. What says nothing is in progress.
const (
	Ready      Health = "Ready"
	InProgress Health = "InProgress"
	Failing    Health = "Failed"
)

// Situation is whose an object is.
type Situation string

// The situations.
const (
	Absent Situation = "Absent"
	// Ours is what this deployment made or took.
	Ours Situation = "Ours"
	// Unowned is an object that no other program claims.
	Unowned Situation = "Unowned"
	// Foreign is what another program or a controller keeps.
	Foreign Situation = "Foreign"
	// Another is what another deployment owns.
	Another Situation = "Another"
)

// foreign are the annotations and labels by which other programs know what is theirs.
//
//nolint:gochecknoglobals // a table
var foreign = []struct{ place, key, program string }{
	{"annotations", "meta.helm.sh/release-name", "Helm release"},
	{"annotations", "argocd.argoproj.io/tracking-id", "Argo CD application"},
	{"labels", "kustomize.toolkit.fluxcd.io/name", "Flux Kustomization"},
	{"labels", "helm.toolkit.fluxcd.io/name", "Flux HelmRelease"},
	{"labels", "olm.owner", "OLM owner"},
}

// Situation returns the object's situation as seen by a deployment (namespace/name), and the
// name of the program that manages it, where another one does.
func (l Live) Situation(owner string) (situation Situation, holder string) {
	if l.Object == nil {
		return Absent, ""
	}
	for _, reference := range list(l.Object.At("metadata", "ownerReferences")) {
		fields, _ := reference.(map[string]any)
		if fields["controller"] == true {
			return Foreign, fmt.Sprintf("controller %s %s", Object(fields).Text("kind"), Object(fields).Text("name"))
		}
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
