// Package metadata watches the metadata of objects that deployments made, each by the
// deployment's own account, so that a change by something else is seen at once. It neither lists
// nor watches Secrets (SAFETY.md S2).
//
// What must not come in: the content of objects, or a decision about what a change means.
package metadata
