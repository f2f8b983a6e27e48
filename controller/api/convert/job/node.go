package job

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// ToTarget returns the target of runs; the zero value is the cluster.
func ToTarget(t *v1alpha1.JobTarget) node.Selection {
	if t == nil {
		return node.Selection{}
	}
	return node.Selection{Name: t.RunNode.Name, Labels: maps.Clone(t.RunNode.Labels)}
}

// forTarget returns the target of runs; nil is the cluster.
func forTarget(t node.Selection) *v1alpha1.JobTarget {
	if t.Name == "" && len(t.Labels) == 0 {
		return nil
	}
	return &v1alpha1.JobTarget{RunNode: v1alpha1.JobNodeTarget{Name: t.Name, Labels: maps.Clone(t.Labels)}}
}

// ToNode returns a RunNode for its rules. An order that is not known suspends the node.
func ToNode(o *v1alpha1.RunNode) node.Node {
	n := node.Node{
		Name: o.Name, Labels: maps.Clone(o.Labels), Namespaces: slices.Clone(o.Spec.Namespaces), Capacity: int(max(o.Spec.Capacity, 1)),
		Adopted: o.Spec.Key, Seen: value.Time(o.Status.Seen), Contract: o.Status.Contract, Accepted: slices.Clone(o.Spec.Accepted),
	}
	if c := o.Status.Conformance; c != nil {
		n.Proof = &node.Proof{Subject: c.Subject}
		for _, d := range c.Differences {
			n.Proof.Differences = append(n.Proof.Differences, conformance.Difference{Check: d.Check, Found: d.Found})
		}
	}
	switch o.Spec.Order {
	case "":
	case v1alpha1.OrderRevoked:
		n.Order = node.Revoke
	default:
		n.Order = node.Suspend
	}
	if s := o.State; s != nil {
		n.Key, n.Expires = s.Key, value.Time(s.Expires)
		if t := s.Token; t != nil {
			n.Token = node.Token{Digest: t.Digest, Expires: t.Expires.UTC(), User: t.User}
		}
	}
	return n
}

// SetIdentity writes what an agent is known by.
func SetIdentity(o *v1alpha1.RunNode, i node.Identity) {
	o.State = &v1alpha1.RunNodeState{Key: i.Key, Expires: value.FromTime(i.Expires)}
	if t := i.Token; t.Digest != "" {
		o.State.Token = &v1alpha1.RunNodeToken{Digest: t.Digest, Expires: metav1.NewTime(t.Expires), User: t.User}
	}
}

// SetProof writes what an agent found of the runner contract; nil for nothing.
func SetProof(o *v1alpha1.RunNode, p *node.Proof) {
	o.Status.Conformance = nil
	if p == nil {
		return
	}
	o.Status.Conformance = &v1alpha1.RunNodeConformance{Subject: p.Subject}
	for _, d := range p.Differences {
		o.Status.Conformance.Differences = append(o.Status.Conformance.Differences, v1alpha1.RunNodeDifference{Check: d.Check, Found: d.Found})
	}
}

// SetNode writes what is derived of a RunNode into its status.
func SetNode(o *v1alpha1.RunNode, s node.Standing, now time.Time) {
	o.Status.ObservedGeneration, o.Status.Phase = o.Generation, s.Phase
	o.Status.Conditions = value.SetConditions(o.Status.Conditions, s.Conditions(), o.Generation, now)
}
