// Package chunk carries the output of a template away while it runs, as numbered chunks (JOBS.md J11). What is
// carried twice is the same chunk, what is missing is recorded, and a sink that is full or gone never blocks the run.
//
// What must not come in: where chunks are stored, and who may read them.
package chunk
