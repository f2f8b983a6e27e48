// Package relation decides which relations exist and what state they are in.
//
// Negotiate looks at one namespace and says what must happen for it to be
// settled. It is a pure function: equal snapshots give equal decisions, and a
// settled snapshot gives none.
//
//	declared ──Relate──▶ alive ──declaration gone──▶ held ──retain over──▶ dying ──▶ dead
//	                       ▲                          │                      ▲
//	                       └──────declared again──────┘     deleted by hand ─┘
//
// Across namespaces an Offer opens it, whether it is held or not, and what it says in
// either namespace is hidden from the other while none does:
//
//	never open ──offered──▶ open ──withdrawn──▶ suspended ──offered again──▶ open
//
// What must not come in: anything that knows Kubernetes, a clock (the time is in
// the snapshot), a file or the network; and how objects declare themselves, which
// is package application's.
package relation
