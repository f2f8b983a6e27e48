// Package state captures the folder of a run's state as an archive and restores it: tar, compressed by zstd
// (JOBS.md J12, JOBS-DESIGN.md 9 and 10). Equal folders give equal plain archives, by which a state is known.
//
// The package above unpacks small trees of files into memory. A state has folders, links and modes, and is written to
// a file system beside a process that may be hostile.
//
// What must not come in: where archives are stored, and what a state means.
package state
