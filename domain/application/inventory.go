package application

import (
	"maps"
	"slices"
	"time"
)

// Object holds the fields that every observed object has.
type Object struct {
	Name string
	UID  string
	// Created orders claims to a name: the earlier has it (SAFETY.md A1).
	Created     time.Time
	Labels      map[string]string
	Annotations map[string]string
}

// Service is a Service as observed.
type Service struct {
	Object
	// Selector is nil for a Service without pods.
	Selector map[string]string
	// ExternalName is set where the Service is an alias of a name outside.
	ExternalName string
	Ports        []Port
}

// Port is one port of a Service.
type Port struct {
	Name string
	// Number is the number that clients dial.
	Number int
	// Protocol that clients speak, as the Service says; may be empty.
	Protocol string
}

// WorkloadKind names a kind of workload: Deployment, StatefulSet, DaemonSet,
// Job, CronJob, Pod, or one that is known by its pods only.
type WorkloadKind string

// The kinds that the rules tell apart.
const (
	Deployment  WorkloadKind = "Deployment"
	StatefulSet WorkloadKind = "StatefulSet"
	DaemonSet   WorkloadKind = "DaemonSet"
	Job         WorkloadKind = "Job"
	CronJob     WorkloadKind = "CronJob"
	BarePod     WorkloadKind = "Pod"
)

// rank orders kinds for a name that several workloads claim: those that serve come first.
func (k WorkloadKind) rank() int {
	served := []WorkloadKind{Deployment, StatefulSet, DaemonSet}
	if at := slices.Index(served, k); at >= 0 {
		return at
	}
	return len(served)
}

// Workload makes pods.
type Workload struct {
	Object
	Kind WorkloadKind
	// TemplateLabels and TemplateAnnotations are those of its pods.
	TemplateLabels      map[string]string
	TemplateAnnotations map[string]string
	// Replicas is how many units it wants, and First the lowest ordinal of their pods; of use for a StatefulSet.
	Replicas, First int
	// RollingOut is set until its pods are those of its present template. LeftToPeople is why
	// nothing replaces old pods but a person, with the cure; empty if something does.
	RollingOut   bool
	LeftToPeople string
	// Uncopied has the annotations that its template lacks, as injection.Uncopied returns them; nil for none.
	Uncopied map[string]string
	// PastDeadline is the progressDeadlineSeconds that its rollout has exceeded; 0 if it has not.
	PastDeadline int
}

// ID returns kind/name, for example Deployment/web.
func (w Workload) ID() string { return id(w.Kind, w.Name) }

// OptedOut reports whether its pods opt out of injection.
func (w Workload) OptedOut() bool {
	return w.TemplateAnnotations[KeyInject] == "false" || w.TemplateLabels[KeyInject] == "false"
}

// HasPods reports whether one of the pods is the workload's.
func (w Workload) HasPods(pods []Pod) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.OwnerKind == w.Kind && p.OwnerName == w.Name })
}

// wants reports whether a StatefulSet makes pods with an ordinal.
func (w Workload) wants(ordinal int) bool { return ordinal >= w.First && ordinal < w.First+w.Replicas }

// Restartable reports whether a change of its template replaces its pods.
func (w Workload) Restartable() bool {
	return w.Kind == Deployment || w.Kind == StatefulSet || w.Kind == DaemonSet
}

// declaration parses what the workload says; its template wins over its metadata (INJECTION.md I30).
func (w Workload) declaration() (Declaration, []Problem) {
	annotations := maps.Clone(w.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, w.TemplateAnnotations)
	return Parse(nil, annotations)
}

// Pod is a pod as observed.
type Pod struct {
	Object
	// OwnerKind and OwnerName are its topmost known controller; a bare pod owns itself, with the kind Pod.
	OwnerKind WorkloadKind
	OwnerName string
	// Ordinal is the pod's number in a StatefulSet, else -1.
	Ordinal int
	// Address is the pod's IP; empty as long as it has none.
	Address string
	// Injected is set where the pod has an agent.
	Injected bool
	// AgentTrouble says why a container that Orcon added to the pod does not run; empty if all run.
	AgentTrouble string
	// NodeReason and NodeTrouble say why the pod's node gives it no data; empty if it does.
	NodeReason, NodeTrouble string
	// Holding is since when a container that Orcon added runs and holds back those after it; zero if none does.
	Holding time.Time
	// EgressDenied names the NetworkPolicies that keep the pod from the controller; empty for none.
	EgressDenied string
	// Finished pods Succeeded or Failed: they are gone (SAFETY.md A2).
	Finished bool
	// Ending pods are being deleted; Deadline is when their time to end is over.
	Ending   bool
	Deadline time.Time
}

// The reasons why a pod's node gives it no data.
const (
	ReasonOldKubelet  = "OldKubelet"
	ReasonVirtualNode = "VirtualNode"
)

// Inventory is all that a namespace holds of interest.
type Inventory struct {
	Namespace string
	Services  []Service
	Workloads []Workload
	Pods      []Pod
	// Strays are pods whose workload is unknown: it is gone, or not seen yet.
	Strays []Pod
}
