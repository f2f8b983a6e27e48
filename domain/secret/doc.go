// Package secret decides about secrets: who may change one and who may read it, which revision a reader sees, and
// which revisions have no reader left.
//
//	Write ──▶ Apply ──▶ Secret ──▶ Read ──▶ the revision, and who keeps to it
//	           │                    │
//	           └── what no reader can reach any more is left out (Settle)
//
// A secret here has no content: only the places of its revisions' content. So no decision can leak one by mistake.
//
// What must not come in: content beyond CheckContent, and where it is stored.
package secret
