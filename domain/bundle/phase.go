package bundle

import (
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Phase is when an object's turn comes. The objects of a phase are written when those
// of all earlier phases are healthy.
type Phase int

// The phases, first to last.
const (
	Namespaces Phase = iota
	Policies
	CRDs
	Identity
	Roles
	Bindings
	Configuration
	Storage
	Services
	Workloads
	Scaling
	Publishing
	Webhooks
	CustomResources
	Jobs
)

// phaseNames are the words that people write and read, in the order of the phases.
//
//nolint:gochecknoglobals // a table
var phaseNames = []string{
	"namespaces", "policies", "crds", "identity", "roles", "bindings", "configuration", "storage",
	"services", "workloads", "scaling", "publishing", "webhooks", "custom-resources", "jobs",
}

// String returns the phase's name, as in annotation orcon.tengu.io/phase.
func (p Phase) String() string {
	if p < 0 || int(p) >= len(phaseNames) {
		return fmt.Sprintf("phase %d", int(p))
	}
	return phaseNames[p]
}

// ParsePhase reads a phase's name.
func ParsePhase(text string) (Phase, error) {
	at, err := word(text, phaseNames)
	return Phase(at), err
}

// word returns the index of a text among the known words.
func word(text string, known []string) (int, error) {
	for i, w := range known {
		if w == text {
			return i, nil
		}
	}
	if near := spelling.Nearest(text, known); near != "" {
		return 0, fmt.Errorf("%q is unknown: did you mean %q?", text, near)
	}
	return 0, fmt.Errorf("%q is unknown: write one of %s", text, strings.Join(known, ", "))
}

// phases are the kinds that have a phase of their own, by "Kind.group". A group's
// "*" stands for its other kinds.
//
//nolint:gochecknoglobals // a table
var phases = map[string]Phase{
	"Namespace": Namespaces,

	"NetworkPolicy.networking.k8s.io": Policies, "ResourceQuota": Policies, "LimitRange": Policies,
	"PriorityClass.scheduling.k8s.io": Policies, "RuntimeClass.node.k8s.io": Policies,
	"ValidatingAdmissionPolicy.admissionregistration.k8s.io":        Policies,
	"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": Policies,
	"MutatingAdmissionPolicy.admissionregistration.k8s.io":          Policies,
	"MutatingAdmissionPolicyBinding.admissionregistration.k8s.io":   Policies,

	"CustomResourceDefinition.apiextensions.k8s.io": CRDs,

	"ServiceAccount":                               Identity,
	"Role.rbac.authorization.k8s.io":               Roles,
	"ClusterRole.rbac.authorization.k8s.io":        Roles,
	"RoleBinding.rbac.authorization.k8s.io":        Bindings,
	"ClusterRoleBinding.rbac.authorization.k8s.io": Bindings,

	"*": Configuration, "*.apps": Configuration, "*.batch": Configuration, "*.autoscaling": Configuration, "*.policy": Configuration,

	"*.storage.k8s.io": Storage, "PersistentVolume": Storage, "PersistentVolumeClaim": Storage,

	"Service": Services, "Endpoints": Services, "EndpointSlice.discovery.k8s.io": Services,

	"Deployment.apps": Workloads, "StatefulSet.apps": Workloads, "DaemonSet.apps": Workloads, "ReplicaSet.apps": Workloads,
	"ReplicationController": Workloads, "Pod": Workloads, "CronJob.batch": Workloads,

	"HorizontalPodAutoscaler.autoscaling": Scaling, "PodDisruptionBudget.policy": Scaling, "*.autoscaling.k8s.io": Scaling,

	"Ingress.networking.k8s.io": Publishing, "IngressClass.networking.k8s.io": Publishing,
	"*.gateway.networking.k8s.io": Publishing, "*.monitoring.coreos.com": Publishing,

	"ValidatingWebhookConfiguration.admissionregistration.k8s.io": Webhooks,
	"MutatingWebhookConfiguration.admissionregistration.k8s.io":   Webhooks,
	"APIService.apiregistration.k8s.io":                           Webhooks,

	"Job.batch": Jobs,
}

// kind names a kind without its version: "Kind" or "Kind.group".
func (id ID) kind() string {
	if id.Group == "" {
		return id.Kind
	}
	return id.Kind + "." + id.Group
}

// DefaultPhase returns the phase of a kind whose author names none. A kind that no table has, or that a definition of
// the bundle itself defines, is a custom resource.
func DefaultPhase(id ID) Phase {
	if phase, known := phases[id.kind()]; known {
		return phase
	}
	others := ID{Group: id.Group, Kind: "*"}
	if phase, known := phases[others.kind()]; known {
		return phase
	}
	return CustomResources
}
