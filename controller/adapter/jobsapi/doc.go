// Package jobsapi reaches the jobs API for a keeper: it is the keeper's ledger, its store of blobs and the sink of its
// output, over HTTP. Each call is one request: the keeper repeats those that fail in passing, with longer and longer pauses.
//
// What must not come in: repetition, and what an answer means for a run.
package jobsapi
