// Package v1alpha1 holds the kinds of stateful runs as people and tools see them in the cluster.
//
// What must not come in: anything of the domain, and a rule.
//
// +kubebuilder:object:generate=true
// +groupName=orcon.tengu.io
package v1alpha1
