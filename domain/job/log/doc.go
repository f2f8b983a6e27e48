// Package log keeps account of the chunks of a run's logs: which are stored, which came twice, and which are missing
// (JOBS.md J11).
//
// A keeper cuts each stream into chunks with numbers from 1 and sends them until they are acknowledged, in any order.
// A chunk that it had to drop, because its spool was full, is reported by the next one. The account is a value; each
// method returns the next one.
//
// What must not come in: the chunks' contents, a store, a clock.
package log
