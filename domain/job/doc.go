// Package job holds the words that all parts of stateful runs share (JOBS.md): how a process ended, what became of the
// state, what a template permits, and the times after which a silent holder counts as lost.
//
// Its rooms decide:
//
//	workspace   who holds the lock of a Workspace, which state counts, and what a person may decide
//	run         what a Run is doing, derived from its Workspace and its pod, and the input that it is frozen to
//	program     whether a template can be run, and which parameters fit its schema
//	retention   which blobs, chunks and Runs may be deleted
//	template    what a template and its type are together, and the version that they are frozen to
//	tooltype    what OpenTofu and Ansible find of a run's parameters
//	check       when a Workspace is checked, and what the last check found
//	approval    what a person's approval of a plan comes to
//	log         which chunks of a log are stored, and which are missing
//
// What must not come in: a Kubernetes type, a file, a network, a clock. Times and durations are arguments.
package job
