package relation

import (
	"cmp"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

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
