package negotiation

import (
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// maxNamed is how many keys a condition names; more would hide the first.
const maxNamed = 5

// projected lists the data of its relations that an application's pods cannot have as variables (SAFETY.md P8, P9) or
// as files (W1). Empty values do not count.
func projected(c contents, known relations, a application.Application) []condition.Condition {
	if !a.Consumes() {
		return nil
	}
	variables, problems := injection.Variables(a.Endpoints, injection.Fields(c.Interfaces.Fields).Of(a.Endpoints), a.Env)
	var env, files []string
	for _, p := range problems {
		env = append(env, p.Error())
	}
	for r := range known.of(a.Name) {
		if r.Requirer.Application == a.Name && !r.Peer() && r.Alive() {
			bag := c.in(r, r.Provider)
			env = append(env, notVariables(variables, r.Requirer.Endpoint, bag)...)
			files = append(files, notFiles(r.Provider, bag)...)
		}
	}
	return slices.Concat(
		leftOut(condition.EnvRefused, relation.ReasonNotVariables, "left out of the environment: ", env),
		leftOut(condition.FilesRefused, relation.ReasonNotFiles,
			"left out of the files, because a key must have letters, digits, '.', '_' and '-' and begin with a letter or digit: ", files))
}

// notVariables names the variables of an endpoint whose values cannot be any.
func notVariables(variables []injection.Variable, endpoint string, bag map[string]string) []string {
	var all []string
	for _, v := range variables {
		value := bag[v.Key]
		if v.Endpoint != endpoint || value == "" {
			continue
		}
		if reason, ok := injection.EnvValue(value); !ok {
			all = append(all, fmt.Sprintf("%s: the value of %s %s: read the file", v.Name, v.Key, strings.TrimPrefix(reason, "it ")))
		}
	}
	return all
}

// notFiles names the keys that cannot be files, in order.
func notFiles(from relation.End, bag map[string]string) []string {
	var all []string
	for key := range bag {
		if !databag.FileName(key) {
			all = append(all, fmt.Sprintf("%q of %s", key, from))
		}
	}
	slices.Sort(all)
	return all
}

func leftOut(t condition.Type, reason, text string, what []string) []condition.Condition {
	if len(what) == 0 {
		return nil
	}
	if more := len(what) - maxNamed; more > 0 {
		what = append(slices.Clone(what[:maxNamed]), fmt.Sprintf("and %d more", more))
	}
	return []condition.Condition{condition.New(t, true, reason, text+strings.Join(what, "; "))}
}
