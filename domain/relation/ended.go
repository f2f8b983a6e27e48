package relation

import (
	"cmp"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Strays returns the pods with an agent that are of no application now: their workload is unknown, has another name since
// they were made, or is ignored. They are units of an application that had them.
func Strays(in application.Inventory, now []application.Application) []application.Pod {
	of := map[string]bool{}
	for _, a := range now {
		for _, p := range a.Pods {
			of[p.UID] = true
		}
	}
	strays := slices.Clone(in.Strays)
	for _, p := range in.Pods {
		if p.Injected && !p.Finished && !of[p.UID] {
			strays = append(strays, p)
		}
	}
	return strays
}

// Ended returns the bare pods that have ended and declare something, by the application that each was. Nothing makes
// another one, so that they count neither as units nor as workloads (SAFETY.md A2).
func Ended(pods []application.Pod) map[string]string {
	ended := map[string]string{}
	for _, p := range pods {
		if p.OwnerKind != application.BarePod || !p.Finished {
			continue
		}
		declared, _ := application.Parse(nil, p.Annotations)
		name := cmp.Or(declared.Application, p.Name)
		if was := ended[name]; !declared.Empty() && (was == "" || p.Name < was) {
			ended[name] = p.Name
		}
	}
	return ended
}
