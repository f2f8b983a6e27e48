// Package approval judges a person's approval of a plan (JOBS.md J17): whether the plan is that of the Run that the
// approval names, and whether it may still be applied.
//
// What must not come in: who may approve, which permissions decide, and a Kubernetes type.
package approval
