package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"

	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// Values is the document that the reference chart takes: all lists of it, with one item
// or none.
type Values struct {
	Integrations []Item `yaml:"integrations"`
	CronJobs     []Item `yaml:"cronjobs"`
	// Globals are values of the set for the whole chart.
	Globals map[string]any `yaml:",inline"`
}

// Item is an integration in Values. Fields that the data do not have are left out, false
// and 0 are not.
type Item struct {
	Name      string `yaml:"name"`
	data.Spec `yaml:",inline"`
	Shards    []Shard `yaml:"shard_specs"`
	// Added are fields that the chart adds.
	Added map[string]any `yaml:",inline"`
}

// ExcludeService leaves the Service, which all members of a namespace share, to the
// namespace's own member.
const ExcludeService = "excludeService"

// Values returns the values of the member. The globals are those of the set.
func (m Member) Values(globals map[string]any) (Values, error) {
	v := Values{Globals: maps.Clone(globals)}
	for _, own := range []string{"integrations", "cronjobs"} {
		if _, there := globals[own]; there {
			return v, fmt.Errorf("cannot set value %q for the chart: it lists the members", own)
		}
	}
	if m.Integration == "" {
		return v, nil
	}
	if v.Globals == nil {
		v.Globals = map[string]any{}
	}
	v.Globals[ExcludeService] = true
	if m.CronJob() {
		v.CronJobs = []Item{m.item()}
	} else {
		v.Integrations = []Item{m.item()}
	}
	return v, nil
}

// item returns the member as an item of the values. The reference never passes
// logs.govSlack on.
func (m Member) item() Item {
	item := Item{Name: m.Integration, Spec: m.Spec, Shards: m.Shards, Added: m.Spec.Extra}
	item.Extra = nil
	if item.Logs != nil {
		logs := *item.Logs
		logs.GovSlack = nil
		item.Logs = &logs
	}
	return item
}

// ErrText is returned for a text of several lines that begins with white space: the YAML
// library would lose it.
var ErrText = errors.New("a text of several lines begins with white space")

// lost matches how the library begins such a text.
var lost = regexp.MustCompile(`(?m)[:-] [|](?:[0-9][-+]?$|[-+]?\n *\t)`)

// YAML returns the document.
func (v Values) YAML() ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("cannot write values: %w", err)
	}
	if lost.Match(text.Bytes()) {
		return nil, fmt.Errorf("cannot write values: %w: begin it with a word", ErrText)
	}
	return text.Bytes(), nil
}
