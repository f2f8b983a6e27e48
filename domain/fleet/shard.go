package fleet

import (
	"crypto/md5" //nolint:gosec // the reference's assignment of keys to shards, no protection
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// Shard is one of the workloads of an integration in a namespace. The tags are the
// names in the values of the reference chart, which writes empty texts too.
type Shard struct {
	// Count and ID are of static shards and sub-shards, "" for others.
	Count     string     `yaml:"shards"`
	ID        string     `yaml:"shard_id"`
	Overrides *Overrides `yaml:"shard_spec_overrides,omitempty"`
	// Key names the object that the shard is for.
	Key string `yaml:"shard_key"`
	// Suffix follows the integration's name in the workload's.
	Suffix string `yaml:"shard_name_suffix"`
	// Args are the spec's extraArgs and the flag that selects the object.
	Args string `yaml:"extra_args"`
}

// Overrides changes a shard.
type Overrides struct {
	Shard     Overridden      `yaml:"shard"`
	ImageRef  *string         `yaml:"imageRef,omitempty"`
	Disabled  *bool           `yaml:"disabled,omitempty"`
	Resources *data.Resources `yaml:"resources,omitempty"`
}

// Overridden names the object of an override.
type Overridden struct {
	Name    string        `yaml:"name"`
	OrgID   string        `yaml:"orgId,omitempty"`
	Disable *data.Disable `yaml:"disable,omitempty"`
}

// Disabled reports a shard without replicas.
func (s Shard) Disabled() bool { return s.Overrides != nil && value(s.Overrides.Disabled) }

// StaticShard returns the static shard, of count, that a key belongs to: the MD5 of the
// key modulo count, as integrations compute it themselves.
func StaticShard(key string, count int) int {
	sum := md5.Sum([]byte(key)) //nolint:gosec // see the import
	number := new(big.Int).SetBytes(sum[:])
	return int(number.Mod(number, big.NewInt(int64(max(count, 1)))).Int64())
}

// ShardsOf returns those shards that a key belongs to: the shards of the object that the key names, or else the static
// shard that it falls into, one in each divided object.
func ShardsOf(shards []Shard, key string) []Shard {
	var named, static []Shard
	for _, s := range shards {
		count, err := strconv.Atoi(s.Count)
		switch {
		case s.Key == key && key != "":
			named = append(named, s)
		case err == nil && s.ID == strconv.Itoa(StaticShard(key, count)):
			static = append(static, s)
		}
	}
	if len(named) > 0 {
		return named
	}
	return static
}

// shards returns the shards of an entry, and what has no effect in it.
func shards(integration string, e data.Entry, objects map[data.Strategy]data.Objects) ([]Shard, []data.Problem) {
	s, args := e.Sharding, value(e.Spec.ExtraArgs)
	if s.Strategy == data.Static {
		return static(Shard{Args: args}, s.Shards, s.Shards > 1), nil
	}
	var all []Shard
	enabled := map[string]bool{}
	for _, o := range objects[s.Strategy].All {
		if !excluded(o, integration, s.Strategy) {
			enabled[o.Name] = true
			all = append(all, ofObject(o, s, args)...)
		}
	}
	return all, idle(s, enabled)
}

// ofObject returns the shard of an object, or the parts that it is divided into.
func ofObject(o data.Object, s data.Sharding, args string) []Shard {
	shard, override := keyed(o, s.Strategy, args), s.For(o.Name)
	if override == nil {
		return []Shard{shard}
	}
	shard.Overrides = overrides(*override, s.Strategy)
	if override.SubShards == 0 {
		return []Shard{shard}
	}
	return static(shard, override.SubShards, true)
}

// idle lists overrides of shards that do not exist, and a sharding without shards.
func idle(s data.Sharding, enabled map[string]bool) []data.Problem {
	var all []data.Problem
	for _, o := range s.Overrides {
		if !enabled[o.Object.Name] {
			reason := fmt.Sprintf("the override has no effect: %s is not among the shards", o.Object.Name)
			all = append(all, data.Problem{Location: o.Location, Reason: reason, Cure: "remove it, or enable the integration there"})
		}
	}
	if len(enabled) == 0 {
		reason := fmt.Sprintf("strategy %s finds no object to run for", s.Strategy)
		all = append(all, data.Problem{Location: s.Location, Reason: reason, Cure: "enable the integration for one, or remove the entry"})
	}
	return all
}

// static divides a shard.
func static(s Shard, count int, suffix bool) []Shard {
	var all []Shard
	for i := range count {
		part := s
		part.Count, part.ID = strconv.Itoa(count), strconv.Itoa(i)
		if suffix {
			part.Suffix += "-" + part.ID
		}
		all = append(all, part)
	}
	return all
}

// excluded reports whether an object leaves the integration out. Organisations cannot.
func excluded(o data.Object, integration string, s data.Strategy) bool {
	return s != data.PerOrganisation && o.Disable != nil && slices.Contains(o.Disable.Integrations, integration)
}

// keyed returns the shard of an object. The flag follows extraArgs after one space even
// if these are empty, as the reference writes it: a change would restart pods.
func keyed(o data.Object, s data.Strategy, args string) Shard {
	switch s {
	case data.PerAccount:
		return Shard{Key: o.Name, Suffix: "-" + o.Name, Args: args + " --account-name " + o.Name}
	case data.PerCluster:
		return Shard{Key: o.Name, Suffix: "-" + o.Name, Args: args + " --cluster-name " + o.Name}
	case data.PerOrganisation:
		return Shard{Key: o.OrgID, Suffix: "-" + strings.ToLower(o.OrgID), Args: args + " --org-id " + o.OrgID}
	case data.Static:
	}
	return Shard{Args: args}
}

// overrides returns an override as the chart takes it.
func overrides(o data.Override, s data.Strategy) *Overrides {
	shard := Overridden{Name: o.Object.Name}
	switch s {
	case data.PerAccount:
		shard.Disable = o.Object.Disable
	case data.PerOrganisation:
		shard.OrgID = o.Object.OrgID
	case data.PerCluster, data.Static:
	}
	return &Overrides{shard, o.ImageRef, o.Disabled, o.Resources}
}

// value returns what an optional field has, or the zero value.
func value[T any](field *T) T {
	if field == nil {
		var zero T
		return zero
	}
	return *field
}
