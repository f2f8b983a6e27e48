package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// Findings lists what the API server would refuse, or take for something else, of
// members of one selection (FLEET.md C3). It needs the data only.
func Findings(members []Member) []data.Problem {
	var all []data.Problem
	taken := map[string]Member{}
	for _, m := range members {
		if m.Integration == "" {
			continue
		}
		all = append(all, m.findings()...)
		for _, claim := range m.claims() {
			other, conflict := taken[claim.key]
			if conflict {
				all = append(all, data.Problem{Location: m.Location, Reason: claim.reason + " " + other.Location.String(), Cure: claim.cure})
			}
			taken[claim.key] = m
		}
	}
	slices.SortStableFunc(all, func(a, b data.Problem) int {
		return cmp.Or(cmp.Compare(a.Location.File, b.Location.File), cmp.Compare(a.Location.Line, b.Location.Line))
	})
	return all
}

// claim is a name that one member of a namespace may have.
type claim struct {
	key string
	// reason ends before the location of the other member.
	reason, cure string
}

// claims lists the names that the member has in its namespace.
func (m Member) claims() []claim {
	at := m.Namespace.Path + " "
	prefix := Prefix(m.Integration)
	all := []claim{{at + prefix + "_", "the parameters " + prefix + "_… are also those of", "rename one of the integrations"}}
	for _, s := range m.Shards {
		name := m.Integration + s.Suffix
		all = append(all, claim{at + name, "workload " + name + " is also one of", "rename an integration, or change its sharding"})
	}
	return all
}

// Prefix returns the beginning of an integration's parameters in the reference chart.
func Prefix(integration string) string {
	return strings.ReplaceAll(strings.ToUpper(integration), "-", "_")
}

// findings lists those of one member.
func (m Member) findings() []data.Problem {
	var all []data.Problem
	if m.CronJob() && value(m.Spec.RestartPolicy) == "Always" {
		all = append(all, m.find("restartPolicy", "a CronJob cannot have restartPolicy Always", "use OnFailure or Never"))
	}
	images := []string{value(m.Spec.ImageRef)}
	for _, s := range m.Shards {
		if s.Overrides != nil {
			images = append(images, value(s.Overrides.ImageRef))
		}
	}
	slices.Sort(images)
	for _, image := range slices.Compact(images) {
		if strings.HasSuffix(image, "@") {
			reason := fmt.Sprintf("image reference %q ends in @ and names no digest", image)
			all = append(all, m.find("imageRef", reason, "add the digest, or remove the @"))
		}
	}
	return append(all, m.variables()...)
}

// variables lists findings in extraEnv.
func (m Member) variables() []data.Problem {
	var all []data.Problem
	seen := map[string]bool{}
	for _, e := range m.Spec.ExtraEnv {
		name := cmp.Or(value(e.Name), value(e.SecretKey))
		if seen[name] {
			all = append(all, m.find("extraEnv", fmt.Sprintf("variable %q is set twice", name), "keep one"))
		}
		seen[name] = true
		if kind := misread(value(e.Value)); kind != "" {
			reason := fmt.Sprintf("the reference chart writes the value of variable %q unquoted, and YAML makes it %s", name, kind)
			all = append(all, m.find("extraEnv", reason, fmt.Sprintf("put quotes into the value: '%q'", *e.Value)))
		}
	}
	return all
}

// find returns a finding at a field of the spec.
func (m Member) find(field, reason, cure string) data.Problem {
	at, there := m.At[field]
	if !there {
		at = m.Location
	}
	return data.Problem{Location: at, Reason: reason, Cure: cure}
}

// misread returns what YAML makes of an unquoted text; "" if that text. Helm reads YAML
// 1.1, in which yes and off are booleans.
func misread(text string) string {
	switch strings.ToLower(text) {
	case "":
		return ""
	case "y", "n", "yes", "no", "on", "off":
		return "a boolean"
	}
	var document struct{ Value yaml.Node }
	if err := yaml.Unmarshal([]byte("value: "+text), &document); err != nil {
		return "invalid"
	}
	if document.Value.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return "" // the value brings its quotes along
	}
	kinds := map[string]string{"!!bool": "a boolean", "!!int": "a number", "!!float": "a number", "!!null": "null", "!!timestamp": "a date"}
	switch kind := kinds[document.Value.ShortTag()]; {
	case kind != "":
		return kind
	case document.Value.Value != text:
		return "another value"
	default:
		return ""
	}
}
