// Package v1alpha1 holds Orcon's kinds as people and tools see them in the cluster.
//
// RelatedApplication and Databag are generated and written by the controller alone, all of it in
// status: one change is one write (SAFETY.md D11, D12). The packages of controller/api/convert map
// the kinds to the domain and back.
//
// What must not come in: anything of the domain, and a rule.
//
// +kubebuilder:object:generate=true
// +groupName=orcon.tengu.io
package v1alpha1
