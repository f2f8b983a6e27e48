// Package bindings puts data on disk so that no reader ever sees half of it.
//
// A [Volume] holds directories laid out as the Service Binding specification
// and the kubelet's own AtomicWriter have them, so that existing libraries and
// file watchers work unchanged:
//
//	db/                         a real directory: watchers keep their watch
//	db/..data                -> ..2026_08_01_10_00_00.1234567890
//	db/host                  -> ..data/host
//	db/..2026_…/host            the value
//
// One rename of ..data changes the whole set. A [File] is a single file that is
// replaced whole; a [Pair] is for content that only its writer reads.
//
// What must not come in: which directories there are and what is in them; that
// is decided by the caller.
package bindings
