// Package dockerjob carries out attempts of Runs by containers of a Docker engine on this machine (JOBS-DESIGN.md 1, 14
// and 16). Each attempt has one container, whose first process is the shim of job-runner, and a folder:
//
//	attempt.json   the intent: it is there before the engine is called
//	exchange state logs home temporary        mounts of the container; scratch is the keeper's
//	content                                   what another container has copied from the image: /work and its users
//	secrets                                   a link to a folder in memory, which goes when the attempt is over
//	over           neither process nor keeper is left
//	removed        container and folder go when it is over
//
// The folder outlives container, agent and machine: what finds it when the agent starts again adopts the container by its
// name, and has the state captured where the container is gone. The keeper is a part of the agent, which has the user
// of the contract, as processes of containers do, and may use the socket of the engine.
//
// What must not come in: locks, outcomes, the jobs API, and Kubernetes.
package dockerjob
