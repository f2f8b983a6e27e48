// Package charts compares what charts of others are rendered to with what Helm itself would install, object by object.
// The charts are read from the archives of Go modules that hold them, each pinned by its checksum, so that none is
// copied here. It is a module of its own since Helm's actions need much that nothing else of Orcon does.
//
// What must not come in: a chart, a cluster.
package charts
