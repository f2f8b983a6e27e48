package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// explained is an integration in a namespace, as fleet explain prints it.
type explained struct {
	Integration string `json:"integration"`
	Namespace   string `json:"namespace"`
	// Environment and Cluster are known from the data only, Set, Member and State from the cluster only.
	Environment string           `json:"environment,omitempty"`
	Cluster     string           `json:"cluster,omitempty"`
	Declared    string           `json:"declared"`
	Set         string           `json:"set,omitempty"`
	Member      string           `json:"member,omitempty"`
	State       string           `json:"state,omitempty"`
	Shards      []explainedShard `json:"shards"`
	// KeyShards are the shards that the key belongs to.
	KeyShards []string `json:"keyShards,omitempty"`
	// Notes list what is declared and has no effect, Waits why the member is not ready or not as declared.
	Notes []string `json:"notes,omitempty"`
	Waits []string `json:"waits,omitempty"`
}

// explainedShard is a shard. A chart may name its workload with something before the name.
type explainedShard struct {
	Name      string `json:"name"`
	Key       string `json:"key,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Disabled  bool   `json:"disabled,omitempty"`
}

// explainMember explains a member of the data.
func explainMember(m fleet.Member, key string) explained {
	e := explained{
		Integration: m.Integration, Namespace: m.Namespace.Name, Environment: m.Namespace.Environment.Name, Cluster: m.Namespace.Cluster.Name,
		Declared: m.Location.String(),
	}
	e.shards(m.Shards, key)
	for _, note := range slices.Concat(m.Warnings, fleet.Findings([]fleet.Member{m})) {
		e.Notes = append(e.Notes, note.String())
	}
	return e
}

// shards adds shards, and those of them that a key belongs to.
func (e *explained) shards(all []fleet.Shard, key string) {
	e.Shards = []explainedShard{}
	for _, s := range all {
		e.Shards = append(e.Shards, explainedShard{e.Integration + s.Suffix, s.Key, strings.TrimSpace(s.Args), s.Disabled()})
	}
	if key != "" {
		for _, s := range fleet.ShardsOf(all, key) {
			e.KeyShards = append(e.KeyShards, e.Integration+s.Suffix)
		}
	}
}

// explainSet explains the members of a set that run an integration, and those that are not made yet.
func explainSet(s shownSet, integration, key string) []explained {
	var all []explained
	known := map[string]bool{}
	for _, m := range s.Members {
		if m.Integration != integration {
			continue
		}
		known[m.key().String()] = true
		e := explained{
			Integration: integration, Namespace: m.Namespace, Declared: m.Declared, Set: s.Namespace + "/" + s.Name, Member: m.Name, State: m.State,
		}
		e.shards(stampedShards(m.deployment), key)
		e.Waits = slices.Concat(s.waitsOf(m.key().String()), s.faultsOf(m.deployment.Annotations[v1alpha1.FileKey]), m.Problems, s.stopped())
		all = append(all, e)
	}
	for _, w := range s.Status.Waits {
		if of, at, _ := strings.Cut(w.Member, " in "); of == integration && !known[w.Member] {
			all = append(all, explained{
				Integration: integration, Namespace: at, Set: s.Namespace + "/" + s.Name, State: stateWaiting, Shards: []explainedShard{},
				Waits: append([]string{w.Message}, s.stopped()...),
			})
		}
	}
	return all
}

// stampedShards returns the shards in the values of a member; none if they are not those of a fleet.
func stampedShards(d *bundlev1alpha1.BundleDeployment) []fleet.Shard {
	type item struct {
		Shards []fleet.Shard `yaml:"shard_specs"`
	}
	var values struct {
		Integrations []item `yaml:"integrations"`
		CronJobs     []item `yaml:"cronjobs"`
	}
	if d.Spec.Render.Values == nil || yaml.Unmarshal(d.Spec.Render.Values.Raw, &values) != nil {
		return nil
	}
	var all []fleet.Shard
	for _, i := range slices.Concat(values.Integrations, values.CronJobs) {
		all = append(all, i.Shards...)
	}
	return all
}

// waitsOf returns what a member waits for.
func (s shownSet) waitsOf(member string) []string {
	var all []string
	for _, w := range s.Status.Waits {
		if w.Member == member {
			all = append(all, w.Message)
		}
	}
	return all
}

// faultsOf returns the errors of a file of the data: its members stay as they are.
func (s shownSet) faultsOf(file string) []string {
	var all []string
	for _, fault := range s.Status.Faults {
		if rest, of := strings.CutPrefix(fault, file); of && file != "" && strings.HasPrefix(rest, ":") {
			all = append(all, fault)
		}
	}
	return all
}

// stopped returns the reason for which a set changes no member; none if it does.
func (s shownSet) stopped() []string {
	reasons := []string{
		integrationset.Paused, integrationset.Fetching, integrationset.FetchFailed, integrationset.SourceRefused, integrationset.InvalidSpec,
		integrationset.ReadOnly, integrationset.SelfApproval,
	}
	if !slices.Contains(reasons, s.Reason) {
		return nil
	}
	return []string{"the set changes nothing: " + s.Message}
}

// title describes the member by its integration, and where it is declared.
func (e explained) title() string {
	parts := []string{e.Integration + " in namespace " + e.Namespace}
	if e.Environment != "" {
		parts = append(parts, "environment "+e.Environment)
	}
	if e.Cluster != "" {
		parts = append(parts, "cluster "+e.Cluster)
	}
	return strings.Join(parts, ", ") + " (" + cmp.Or(e.Declared, "not made yet") + ")"
}

// print prints the member for people.
func (e explained) print(s screen, key string) error {
	title := s.paint(bold, e.title())
	if e.State != "" {
		title += ": " + s.paint(stateStyles()[e.State], e.State)
	}
	fmt.Fprintln(s.out, title)
	if e.Member != "" {
		fmt.Fprintf(s.out, "BundleDeployment %s of set %s\n", e.Member, e.Set)
	}
	if err := e.printShards(s); err != nil {
		return err
	}
	lines := slices.Concat(e.ofKey(key), e.Notes, e.Waits)
	for _, line := range slices.Compact(lines) {
		fmt.Fprint(s.out, wrap(line, "  ", s.width))
	}
	fmt.Fprintln(s.out)
	return nil
}

// printShards prints a line for each shard.
func (e explained) printShards(s screen) error {
	if len(e.Shards) == 0 {
		return nil
	}
	t := s.table("SHARD", "KEY", "ARGUMENTS")
	for _, shard := range e.Shards {
		arguments := shard.Arguments
		if shard.Disabled {
			arguments = "disabled: no replicas"
		}
		t.row(shard.Name, shard.Key, arguments)
	}
	return t.print()
}

// ofKey names the shards that a key belongs to.
func (e explained) ofKey(key string) []string {
	switch {
	case key == "" || len(e.Shards) == 0:
		return nil
	case len(e.KeyShards) == 0:
		return []string{fmt.Sprintf("key %s belongs to no shard: no object of this name is among them", key)}
	}
	return []string{fmt.Sprintf("key %s belongs to %s", key, strings.Join(e.KeyShards, ", "))}
}

// heldProblems returns the errors of the data that hold an integration, and those of files whose integration is unknown.
func heldProblems(held []fleet.Held, integration string) []string {
	var all []string
	for _, h := range held {
		if h.Integration == integration || h.Integration == "" {
			for _, p := range h.Problems {
				all = append(all, p.String())
			}
		}
	}
	return all
}

// integrationNames returns the names of the integrations in data.
func integrationNames(d data.Data) []string {
	var all []string
	for _, i := range d.Integrations {
		all = append(all, i.Name)
	}
	return all
}
