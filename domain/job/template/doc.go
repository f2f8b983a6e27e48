// Package template joins the levels that a run is made of (JOBS.md J16):
//
//	type       a base image, a tool, parameters and actions, for the whole cluster
//	template   content, a setting for each parameter of the type, and parameters of its own
//	version    both, frozen: one schema, fixed values, actions, and the digest of the content
//	workspace  values for what the version exposes
//
// A level may narrow what the one above it gives, and never widens it.
//
// What must not come in: an archive, an image, a registry, a Kubernetes type.
package template
