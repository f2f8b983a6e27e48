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
		Adopted: o.Spec.Key, Accepted: slices.Clone(o.Spec.Accepted),
	}
	switch o.Spec.Order {
	case "":
	case v1alpha1.OrderRevoked:
		n.Order = node.Revoke
	default:
		n.Order = node.Suspend
	}
	if s := o.State; s != nil {
		n.Key, n.Former, n.Expires = s.Key, s.Former, value.Time(s.Expires)
		if t := s.Token; t != nil {
			n.Token = node.Token{Digest: t.Digest, Expires: t.Expires.UTC(), User: t.User}
		}
	}
	return n.Called(toCall(o.Status))
}

// toCall returns the last call that a status tells of.
func toCall(s v1alpha1.RunNodeStatus) node.Call {
	call := node.Call{Caller: s.Caller, Seen: value.Time(s.Seen), Contract: s.Contract, Untested: s.Untested}
	if c := s.Conformance; c != nil {
		call.Proof = &node.Proof{Subject: c.Subject}
		for _, d := range c.Differences {
			call.Proof.Differences = append(call.Proof.Differences, conformance.Difference{Check: d.Check, Found: d.Found})
		}
	}
	return call
}

// SetIdentity writes what an agent is known by.
func SetIdentity(o *v1alpha1.RunNode, i node.Identity) {
	o.State = &v1alpha1.RunNodeState{Key: i.Key, Former: i.Former, Expires: value.FromTime(i.Expires)}
	if t := i.Token; t.Digest != "" {
		o.State.Token = &v1alpha1.RunNodeToken{Digest: t.Digest, Expires: metav1.NewTime(t.Expires), User: t.User}
	}
}

// SetCall writes the last call of an agent.
func SetCall(o *v1alpha1.RunNode, c node.Call) {
	o.Status.Caller, o.Status.Seen, o.Status.Contract, o.Status.Conformance = c.Caller, value.FromTime(c.Seen), c.Contract, nil
	o.Status.Untested = c.Untested
	if c.Proof == nil {
		return
	}
	o.Status.Conformance = &v1alpha1.RunNodeConformance{Subject: c.Proof.Subject}
	for _, d := range c.Proof.Differences {
		o.Status.Conformance.Differences = append(o.Status.Conformance.Differences, v1alpha1.RunNodeDifference{Check: d.Check, Found: d.Found})
	}
}

// SetNode writes what is derived of a RunNode into its status.
func SetNode(o *v1alpha1.RunNode, s node.Standing, now time.Time) {
	o.Status.ObservedGeneration, o.Status.Phase = o.Generation, s.Phase
	o.Status.Conditions = value.SetConditions(o.Status.Conditions, s.Conditions(), o.Generation, now)
}
