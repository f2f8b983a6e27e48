// Package negotiation decides which relations exist and what state they are in.
//
// Negotiate is given one namespace and returns what must happen for it to be settled. It
// is a pure function: equal snapshots give equal decisions, and a settled snapshot gives
// none. It runs in stages: each returns a new value and writes into no other, and the
// types of its parameters say which stages come before it.
//
//	declared ──Relate──▶ alive ──declaration gone──▶ held ──retain over──▶ dying ──▶ dead
//	                       ▲                          │                      ▲
//	                       └──────declared again──────┘     deleted by hand ─┘
//
// An Offer opens a relation across namespaces, whether it is held or not. While none
// does, each namespace is hidden from the other:
//
//	never open ──offered──▶ open ──withdrawn──▶ suspended ──offered again──▶ open
//
// What must not come in: anything that knows Kubernetes, a clock (the time is in
// the snapshot), a file or the network; and how objects declare themselves, which
// belongs to package application.
package negotiation
