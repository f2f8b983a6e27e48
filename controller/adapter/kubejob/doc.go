// Package kubejob carries out attempts of Runs by Jobs of the cluster (JOBS-DESIGN.md 1 and 3).
//
//	install (init container)    copies the runner into a volume, so that any image can be the template's
//	image   (init container)    copies /work and the users out of the template's image, so that a program may write the
//	                            one and finds itself among the others; an image that cannot be run claims nothing
//	keeper  (native sidecar)    keeps the state; it alone has a token, which names its pod
//	template                    the template's image; the runner is its first process and starts the frozen entrypoint
//
// A Job has one pod and never a second one: whether there is another attempt is the controller's decision. The pod
// passes the Pod Security Standard "restricted".
//
// What must not come in: locks, outcomes, and what an attempt is for.
package kubejob
