package health

import (
	"slices"
	"strings"
)

// builtin is the rule of a built-in kind.
type builtin struct {
	// status reports that the kind's controller writes a status at once, so that none is ready without.
	status bool
	judge  func(subject) Verdict
}

// builtins are the rules of built-in kinds, by group and kind (CONTENT.md H2).
//
//nolint:gochecknoglobals // a table
var builtins = map[string]builtin{
	"/PersistentVolume":      {true, volume},
	"/PersistentVolumeClaim": {true, claim},
	"/Pod":                   {true, pod},
	"/ReplicationController": {true, replicaSet},
	"/Namespace":             {true, namespace},
	"/Service":               {false, service},
	"apiextensions.k8s.io/CustomResourceDefinition": {true, definition},
	"apiregistration.k8s.io/APIService":             {true, apiService},
	"apps/DaemonSet":                                {true, daemonSet},
	"apps/Deployment":                               {true, deployment},
	"apps/ReplicaSet":                               {true, replicaSet},
	"apps/StatefulSet":                              {true, statefulSet},
	"autoscaling/HorizontalPodAutoscaler":           {true, autoscaler},
	"batch/CronJob":                                 {false, cronJob},
	"batch/Job":                                     {true, job},
	"networking.k8s.io/Ingress":                     {false, ingress},
	"policy/PodDisruptionBudget":                    {true, budget},
}

// ownGroups are the groups of Kubernetes itself; all other groups are of custom kinds.
//
//nolint:gochecknoglobals // a table
var ownGroups = words(`admissionregistration.k8s.io apiextensions.k8s.io apiregistration.k8s.io apps
	authentication.k8s.io authorization.k8s.io autoscaling batch certificates.k8s.io coordination.k8s.io
	discovery.k8s.io events.k8s.io flowcontrol.apiserver.k8s.io networking.k8s.io node.k8s.io policy
	rbac.authorization.k8s.io resource.k8s.io scheduling.k8s.io storage.k8s.io storagemigration.k8s.io`)

// IsBuiltin reports whether a group is one of Kubernetes itself.
func IsBuiltin(group string) bool { return group == "" || slices.Contains(ownGroups, group) }

func (o subject) isBuiltin() bool {
	group, _ := o.kind()
	return IsBuiltin(group)
}

// Kinds returns the built-in kinds that have rules of their own, as Kind.group.
func Kinds() []string {
	var all []string
	for key := range builtins {
		group, kind, _ := strings.Cut(key, "/")
		all = append(all, strings.TrimSuffix(kind+"."+group, "."))
	}
	slices.Sort(all)
	return all
}

// builtinVerdict returns the verdict of a built-in kind. One without a rule of its own is ready once it is
// there. None is ready that reports a failure by its conditions.
func builtinVerdict(o subject, evidence []Evidence) (Verdict, bool) {
	if !o.isBuiltin() {
		return Verdict{}, false
	}
	group, kind := o.kind()
	v := ready()
	if rule, found := builtins[group+"/"+kind]; found {
		v = rule.judge(o)
	}
	v.Rule = "the rule of " + kind
	if v.State == Ready {
		for _, e := range evidence {
			if e.Class == Failure && strings.HasPrefix(e.Path, "status.conditions[") {
				v.State, v.Says = Failing, e.Says
			}
		}
	}
	return v, true
}

func ready() Verdict { return Verdict{State: Ready} }

func waits(says string) Verdict { return Verdict{State: InProgress, Says: says} }

func fails(says string) Verdict { return Verdict{State: Failing, Says: says} }

// ends is the verdict about a failure that does not pass by itself.
func ends(says string) Verdict { return Verdict{State: Failing, Says: says, Terminal: true} }

func suspended(says string) Verdict { return Verdict{State: Suspended, Says: says} }

// condition returns one of the object's conditions; empty if there is none.
func (o subject) condition(kind string) condition {
	for _, fields := range list(o.at("status", "conditions")) {
		if fields["type"] == kind {
			text := func(name string) string { value, _ := fields[name].(string); return value }
			return condition{kind: kind, status: text("status"), reason: text("reason"), message: text("message")}
		}
	}
	return condition{}
}
