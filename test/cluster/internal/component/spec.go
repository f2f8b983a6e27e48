// Package component runs the programs of a cluster, each as a process that can
// be stopped, killed and started again with the same arguments.
//
// Which programs there are and what they are told must not come in.
package component

import "context"

// EnvProcs names the variable that says how many processors each component may use at a
// time. Without it: all. Where several clusters share few, one is less work for the same.
const EnvProcs = "ORCON_CLUSTER_GOMAXPROCS"

// Spec says how to run one component and how to see that it works.
type Spec struct {
	Name string
	// Command is the program's absolute path and its arguments.
	Command []string
	// Environment is added to the supervisor's own.
	Environment []string
	// Healthy returns nil once the component does its work.
	Healthy func(ctx context.Context) error
}
