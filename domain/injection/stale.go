package injection

import (
	"cmp"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// hashLabel is the label of pods of a Deployment with the end of their ReplicaSet's name.
const hashLabel = "pod-template-hash"

// applicationOf returns the application of a pod, as far as the pod itself shows it; empty if it does not. A Job does not
// show its CronJob: pods of one name their application, or wait for Orcon.
func applicationOf(pod *Shape) string {
	owner, made := pod.Metadata.Controller()
	name := owner.Name
	if !made {
		name = pod.Metadata.Name
	}
	if hash := pod.Metadata.Labels[hashLabel]; owner.Kind == "ReplicaSet" && hash != "" {
		name = strings.TrimSuffix(name, "-"+hash)
	}
	return cmp.Or(pod.Metadata.Annotations[application.KeyApplication], name)
}

// Nameless returns why pods of a workload cannot start with a copy of their data although their author allows it: nothing
// in a pod shows the CronJob that it is of. template are the annotations of its pods.
func Nameless(kind string, template map[string]string) []application.Problem {
	if kind != "CronJob" || template[application.KeyGate] != application.GateStale || template[application.KeyApplication] != "" {
		return nil
	}
	return []application.Problem{{
		Key: application.KeyGate, Entry: application.GateStale, Warning: true,
		Reason: "pods of a CronJob find no copy of their data, and wait while Orcon is away",
		Cure:   "add " + application.KeyApplication + " with the name of the CronJob",
	}}
}
