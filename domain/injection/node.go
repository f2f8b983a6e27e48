package injection

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// oldestMinor is the first minor version of Kubernetes whose kubelets read variables from files by default.
const oldestMinor = 35

// The label by which virtual nodes and the pods for them are known.
const (
	virtualLabel = "type"
	virtualValue = "virtual-kubelet"
)

// Node has the fields of a node that injection reads.
type Node struct {
	// Name is the node's.
	Name string
	// Kubelet is the version that its kubelet reports.
	Kubelet string
	// Labels are the node's.
	Labels map[string]string
}

// Trouble returns why injected pods do not work on a node: a reason, and one sentence with the cure. Both are empty if
// nothing is known against it, also where its version cannot be read (TRUST.md A5).
func (n Node) Trouble() (reason, why string) {
	if n.Labels[virtualLabel] == virtualValue || strings.Contains(n.Kubelet, "-vk-") {
		return application.ReasonVirtualNode, fmt.Sprintf(
			"node %s is virtual, and has neither native sidecars nor variables from files: keep the pods from it",
			n.Name)
	}
	if major, minor, ok := version(n.Kubelet); ok && (major < 1 || major == 1 && minor < oldestMinor) {
		return application.ReasonOldKubelet, fmt.Sprintf("the kubelet of node %s is %s, and leaves variables empty before 1.%d: "+
			"upgrade the node, or keep the pods from it", n.Name, n.Kubelet, oldestMinor)
	}
	return "", ""
}

// version returns major and minor of a version such as v1.36.3-gke.1.
func version(text string) (major, minor int, ok bool) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(text, "v"), ".")
	second, _, _ := strings.Cut(rest, ".")
	major, wrongMajor := strconv.Atoi(first)
	minor, wrongMinor := strconv.Atoi(strings.TrimRight(second, "+"))
	return major, minor, wrongMajor == nil && wrongMinor == nil
}

// virtual reports whether the pod is for virtual nodes alone.
func (s *Spec) virtual() bool { return s.only(virtualLabel, virtualValue) }

// Affinity is the part of a pod's affinity that injection reads.
type Affinity struct {
	NodeAffinity struct {
		Required struct {
			// Terms are alternatives.
			Terms []NodeTerm `json:"nodeSelectorTerms"`
		} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
	} `json:"nodeAffinity"`
}

// NodeTerm lists the labels that a node must have, all of them.
type NodeTerm struct {
	Labels []NodeLabel `json:"matchExpressions"`
}

// NodeLabel holds the values that a label of a node must or must not have.
type NodeLabel struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// only reports whether the pod runs on no nodes but those whose label has the value.
func (s *Spec) only(label, value string) bool {
	other := func(v string) bool { return v != value }
	demands := func(l NodeLabel) bool {
		return l.Key == label && l.Operator == "In" && len(l.Values) > 0 && !slices.ContainsFunc(l.Values, other)
	}
	lets := func(t NodeTerm) bool { return !slices.ContainsFunc(t.Labels, demands) }
	terms := s.Affinity.NodeAffinity.Required.Terms
	return s.NodeSelector[label] == value || len(terms) > 0 && !slices.ContainsFunc(terms, lets)
}
