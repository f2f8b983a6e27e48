// Package agent is the loop inside an injected pod: it hears snapshots of the
// pod's relations, decides what the pod's files, environment and start gate
// must be, and makes them so.
//
//	snapshot ──▶ acceptable? ──▶ merged view ──▶ plan ──▶ files, env ──▶ gate
//	             (V4)            (E13, W2)       (W1, P7–P9)             (I16)
//
// The decisions are pure functions over a [View]; the [Agent] carries them out
// and tries again what failed. Nothing that it hears and no disk that is full
// ends it (SAFETY.md I19). What it has used is remembered on disk, so that a
// restart neither loses a relation nor goes back to an older state.
//
// What must not come in: Kubernetes clients; how a stream is kept or a file is
// replaced (package stream, package bindings); which relations there are and
// when one is complete, which the controller decides.
package agent
