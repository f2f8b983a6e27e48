// Package v1alpha1 holds the kinds of relations as people and tools see them in the cluster.
//
// What the controller cannot compute again stands in state, the rest in status (TRUST.md T5). The
// packages of controller/api/convert map the kinds to the domain and back.
//
// What must not come in: anything of the domain, and a rule.
//
// +kubebuilder:object:generate=true
// +groupName=orcon.tengu.io
package v1alpha1
