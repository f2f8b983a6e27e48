// Package contract holds runner contract v1: what the container of a template finds, and what it leaves
// (JOBS.md J15, JOBS-DESIGN.md 14). It is the same in the cluster and on remote nodes.
//
// What must not come in: how a run is started or where its state is stored.
package contract
