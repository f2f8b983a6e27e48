package negotiation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// ignored holds the objects that declare something and are ignored.
type ignored struct {
	// faults are by the application that each would be of.
	faults map[string][]application.Fault
	wake   time.Time
}

// settleIn is how long a new Service may select nothing before that is reported: in one
// apply it often comes before its workload.
const settleIn = 10 * time.Second

// mostIgnored is how many ignored objects an application lists, each perhaps with many pods: they stand in one object.
const mostIgnored = 64

// firstIgnored returns the ignored objects that an application lists.
func firstIgnored(all []application.Fault) []application.Fault {
	return all[:min(len(all), mostIgnored)]
}

// ignore lists the ignored objects of each application.
func ignore(f *facts) ignored {
	is := ignored{faults: map[string][]application.Fault{}}
	for _, o := range f.Orphans {
		if over := o.Created.Add(settleIn); o.Reason == application.ReasonNoPods && f.Now.Before(over) {
			is.wake = soonest(is.wake, over)
			continue
		}
		o.Created, o.Message = time.Time{}, condition.Cut(o.Message, condition.MaxEntry)
		is.faults[o.Application] = append(is.faults[o.Application], o)
	}
	return is
}

// leftOutOf returns conditions that name the ignored objects of an application.
func leftOutOf(faults []application.Fault) []condition.Condition {
	var all []string
	for _, f := range faults {
		all = append(all, f.Message)
	}
	if len(all) == 0 {
		return nil
	}
	return []condition.Condition{condition.New(condition.LeftOut, true, faults[0].Reason, listed(all))}
}

// notInjected names the pods that should have an agent and have none, with the
// cure (INJECTION.md I1).
func notInjected(namespace string, a application.Application, was relation.Restarts) []condition.Condition {
	if !a.Consumes() {
		return nil
	}
	for _, w := range bareWorkloads(a) {
		if was.Copied[w.ID()] == databag.Version(w.Uncopied) {
			return []condition.Condition{condition.New(condition.NotInjected, true, "KeysRemoved", fmt.Sprintf(
				"%s %s has lost %s from its pod template, which Orcon had written there, so another writer removes it: "+
					"write it on the template, in the place from which the workload is applied",
				w.Kind, w.Name, strings.Join(slices.Sorted(maps.Keys(w.Uncopied)), ", ")))}
		}
	}
	for _, p := range a.Pods {
		if p.Injected || p.Ending || p.Annotations[application.KeyInject] == "false" || p.Labels[application.KeyInject] == "false" {
			continue
		}
		return []condition.Condition{condition.New(condition.NotInjected, true, "NoAgent",
			fmt.Sprintf("pod %s has no agent, because it was created before its declaration, its namespace's label or Orcon: %s",
				p.Name, replace(namespace, a)))}
	}
	return nil
}

// replace returns how a person replaces the pods of an application.
func replace(namespace string, a application.Application) string {
	if w := a.Workloads[0]; w.Restartable() {
		return fmt.Sprintf("kubectl rollout restart %s/%s -n %s", strings.ToLower(string(w.Kind)), w.Name, namespace)
	}
	return "delete it and create it again"
}
