// Package secret decides about secrets: who may change one and who may read it,
// which revision a reader sees, and what nobody can ever read again.
//
//	Write ──▶ Apply ──▶ Secret ──▶ Read ──▶ the revision, and who keeps to it
//	           │                    │
//	           └── what no reader can reach any more is left out (Settle)
//
// A secret here has no content: only the places where the content of its
// revisions lies. What is never here cannot be told by mistake.
//
// What must not come in: content beyond CheckContent, and where it is stored.
package secret
