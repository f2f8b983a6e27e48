// Package runner is the wire format of the jobs API, by which the keeper of a run reaches the controller
// (JOBS-DESIGN.md 2, 3 and 8). Bodies are JSON but those of blobs and chunks. All paths lie below Path and the UID of
// the Run:
//
//	POST     claim                       Claim → Hold
//	POST     renew                       Renew → Renewal
//	POST     checkpoint                  Checkpoint → nothing
//	POST     end                         End → Ended
//	PUT GET  blobs/FENCE/NAME            a blob
//	GET      blobs/FENCE                 Blobs
//	GET      content                     the content that is copied to /work, packed by tar
//	GET      secrets                     values by the names of their files, sealed for the key of a node that has claimed the run
//	PUT      logs/FENCE/STREAM/NUMBER    a chunk of an output or of a log file
//
// What must not come in: rules, and who may do what.
package runner
