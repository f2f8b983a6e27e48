// Package fleet decides which members a fleet has: one for each integration and
// namespace that the data name, with its shards, the values that its chart takes, and
// the parameters of its template (FLEET.md D3, D4, C1, C2, C3).
//
//	files ── data.Read ──▶ Data ── Select(Filter) ──▶ Members, Held, Elsewhere
//	                                                     │
//	                              Values, Parameters, Findings of each
//
// All results are in the order of namespace and integration; equal data give equal
// results.
//
// What must not come in: where files come from, how a chart is rendered, what runs in
// a cluster, whether a change is approved.
package fleet
