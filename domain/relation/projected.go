package relation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// maxNamed is how many keys a condition names; more would hide the first.
const maxNamed = 5

// projected says which data of its relations an application's pods cannot have
// as variables (SAFETY.md P8, P9) or as files (W1). Empty values are no loss.
func (n *negotiation) projected(a application.Application) []condition.Condition {
	if !a.Consumes() {
		return nil
	}
	variables, problems := injection.Variables(a.Endpoints, a.Env)
	var env, files []string
	for _, p := range problems {
		env = append(env, p.Error())
	}
	for r := range n.of(a.Name) {
		if r.Requirer.Application != a.Name || !r.Alive() {
			continue
		}
		bag := n.bag(r.Provider)
		for _, v := range variables {
			if reason, ok := injection.EnvValue(bag[v.Key]); !ok && v.Endpoint == r.Requirer.Endpoint && bag[v.Key] != "" {
				env = append(env, fmt.Sprintf("%s: the value of %s %s: read the file", v.Name, v.Key, reason))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(bag)) {
			if !application.FileName(key) {
				files = append(files, fmt.Sprintf("%q of %s", key, r.Provider))
			}
		}
	}
	return slices.Concat(
		leftOut(condition.EnvRefused, "NotVariables", "left out of the environment: ", env),
		leftOut(condition.FilesRefused, "NotFiles", "left out of the files, for a key is letters, digits, '.', '_' and '-' and begins with a letter or digit: ", files))
}

func leftOut(t condition.Type, reason, text string, what []string) []condition.Condition {
	if len(what) == 0 {
		return nil
	}
	if more := len(what) - maxNamed; more > 0 {
		what = append(slices.Clone(what[:maxNamed]), fmt.Sprintf("and %d more", more))
	}
	return []condition.Condition{{Type: t, True: true, Reason: reason, Message: text + strings.Join(what, "; ")}}
}
