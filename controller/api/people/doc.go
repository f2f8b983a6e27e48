// Package people is the wire format of the people's API of stateful runs, which the API server passes on to the job
// controller (JOBS-DESIGN.md 13). All paths lie below those of the group's namespaces:
//
//	GET   jobruns/NAME/log              the log of a JobRun, as text
//	GET   jobruns/NAME/plan             RunPlan
//	GET   jobworkspaces/NAME/state      State, or with ?archive= an archive: tar, compressed by zstd; with ?left= Left
//	PUT   jobworkspaces/NAME/state      an archive → State
//	POST  jobworkspaces/NAME/decision   Decision → State
//	PUT   jobtemplates/NAME/content     files as zip, or as tar with or without gzip → PushedContent
//
// One lies below the group itself:
//
//	POST  runnodes/NAME/token           nothing → NodeToken
//
// An answer that is not 2xx is a Status of Kubernetes, whose message has the reason and the cure.
//
// What must not come in: rules, and who may do what.
package people
