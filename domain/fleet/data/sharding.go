package data

import (
	"fmt"
	"slices"
)

// Strategy names a way to divide an integration into shards.
type Strategy string

// The strategies.
const (
	// Static makes a fixed number of shards.
	Static Strategy = "static"
	// PerAccount makes one for each AWS account.
	PerAccount Strategy = "per-aws-account"
	// PerCluster makes one for each OpenShift cluster.
	PerCluster Strategy = "per-openshift-cluster"
	// PerOrganisation makes one for each OCM organisation.
	PerOrganisation Strategy = "per-ocm-organization"
)

// strategies lists the strategies.
//
//nolint:gochecknoglobals // a table
var strategies = []string{string(Static), string(PerAccount), string(PerCluster), string(PerOrganisation)}

// Sharding says how an integration is divided in a namespace.
type Sharding struct {
	Location Location
	Strategy Strategy
	// Shards is the number of static shards, at least 1.
	Shards int
	// Overrides of shards by object.
	Overrides []Override
	// Ignored lists fields that are written and have no effect.
	Ignored []Problem
}

// For returns the override of an object; nil if there is none.
func (s Sharding) For(object string) *Override {
	for i := range s.Overrides {
		if s.Overrides[i].Object.Name == object {
			return &s.Overrides[i]
		}
	}
	return nil
}

// Override changes one shard of an object.
type Override struct {
	Location  Location
	Object    Object
	ImageRef  *string
	Disabled  *bool
	Resources *Resources
	// SubShards divides the shard; 0 leaves it whole.
	SubShards int
}

// rawSharding is the field `sharding` of an entry.
type rawSharding struct {
	Schema             string   `yaml:"$schema"`
	Strategy           Strategy `yaml:"strategy" data:"required"`
	Shards             *int     `yaml:"shards"`
	ShardSpecOverrides []value  `yaml:"shardSpecOverrides"`
}

type rawOverride struct {
	Schema      string     `yaml:"$schema"`
	Shard       value      `yaml:"shard" data:"required"`
	ImageRef    *string    `yaml:"imageRef"`
	Disabled    *bool      `yaml:"disabled"`
	Resources   *Resources `yaml:"resources"`
	SubSharding *struct {
		Strategy string `yaml:"strategy" data:"static"`
		Shards   *int   `yaml:"shards"`
	} `yaml:"subSharding"`
}

// oldOverride is an element of `shardSpecOverride`, the field of 2022 and 2023.
type oldOverride struct {
	Schema           string  `yaml:"$schema"`
	ShardingStrategy string  `yaml:"shardingStrategy" data:"per-aws-account"`
	AWSAccounts      []value `yaml:"awsAccounts"`
	AWSAccount       value   `yaml:"awsAccount"`
	Shard            value   `yaml:"shard"`
	ImageRef         *string `yaml:"imageRef" data:"required"`
}

// sharding reads how an entry is divided.
func (l library) sharding(entry value, e rawEntry) (Sharding, []Problem) {
	raw, at, problems := shape(entry, e)
	s := Sharding{Location: at.location(), Strategy: raw.Strategy, Shards: 1}
	if len(problems) > 0 {
		return s, problems
	}
	if !slices.Contains(strategies, string(s.Strategy)) {
		return s, at.refuse(fmt.Sprintf("sharding strategy %q is not supported", s.Strategy), Suggest(string(s.Strategy), strategies))
	}
	s.Shards, problems = count(at, raw.Shards)
	for _, v := range raw.ShardSpecOverrides {
		o, found := l.override(v, s.Strategy)
		s.Overrides, problems = append(s.Overrides, o), append(problems, found...)
	}
	for _, v := range e.ShardSpecOverride {
		all, found := l.oldOverrides(v, s.Strategy)
		s.Overrides, problems = append(s.Overrides, all...), append(problems, found...)
	}
	if len(problems) > 0 {
		return s, problems
	}
	return s.checked(raw.Shards != nil)
}

// shape returns the sharding of an entry and where it is written, in each of the shapes
// that data have had: fields inside spec, with or without a sibling shardSpecOverride; a
// field sharding, inside spec or beside it. The latter stands alone.
func shape(entry value, e rawEntry) (rawSharding, value, []Problem) {
	beside, inside, old := e.Sharding, e.Spec.Sharding, e.Spec
	fields := old.Shards != nil || old.ShardingStrategy != nil || len(old.ShardSpecOverrides) > 0 || len(e.ShardSpecOverride) > 0
	switch {
	case beside != nil && inside != nil, (beside != nil || inside != nil) && fields:
		at := entry.child("sharding")
		return rawSharding{}, at, at.refuse("sharding is written in two ways", "keep the field sharding beside spec and remove the other")
	case beside != nil:
		return *beside, entry.child("sharding"), nil
	case inside != nil:
		return *inside, entry.child("spec").child("sharding"), nil
	}
	raw := rawSharding{Strategy: Static, Shards: old.Shards, ShardSpecOverrides: old.ShardSpecOverrides}
	if old.ShardingStrategy != nil {
		raw.Strategy = *old.ShardingStrategy
	}
	return raw, entry.child("spec").child("shardingStrategy").child("shards"), nil
}

// checked drops fields without effect and refuses two overrides of one shard.
func (s Sharding) checked(counted bool) (Sharding, []Problem) {
	if s.Strategy == Static && len(s.Overrides) > 0 {
		s.Ignored = append(s.Ignored, Problem{s.Overrides[0].Location, "overrides have no effect on static shards", "remove them"})
		s.Overrides = nil
	}
	if s.Strategy != Static && counted {
		s.Ignored = append(s.Ignored, Problem{s.Location, fmt.Sprintf("shards has no effect with strategy %s", s.Strategy), "remove it"})
	}
	for i, o := range s.Overrides {
		if slices.ContainsFunc(s.Overrides[:i], func(other Override) bool { return other.Object.Name == o.Object.Name }) {
			return s, []Problem{{o.Location, fmt.Sprintf("shard %q is overridden twice", o.Object.Name), "merge the two"}}
		}
	}
	return s, nil
}

// mostShards bounds static shards, since each becomes a workload.
const mostShards = 1000

// count reads a number of shards, 1 by default.
func count(v value, shards *int) (int, []Problem) {
	if shards == nil {
		return 1, nil
	}
	if *shards < 1 || *shards > mostShards {
		return 1, v.refuse(fmt.Sprintf("shards is %d", *shards), fmt.Sprintf("write a number from 1 to %d", mostShards))
	}
	return *shards, nil
}

// override reads an override of one shard.
func (l library) override(v value, s Strategy) (Override, []Problem) {
	var raw rawOverride
	if problems := decode(v, &raw, true); len(problems) > 0 {
		return Override{}, problems
	}
	object, problems := l.object(raw.Shard, s)
	o := Override{Location: v.location(), Object: object, ImageRef: raw.ImageRef, Disabled: raw.Disabled, Resources: raw.Resources}
	if raw.SubSharding == nil {
		return o, problems
	}
	if s != PerCluster {
		problems = append(problems, v.refuse("only shards of clusters can be divided further", "remove subSharding")...)
	}
	shards, more := count(v, raw.SubSharding.Shards)
	o.SubShards = shards
	return o, append(problems, more...)
}

// oldOverrides reads an element of shardSpecOverride: one image for some accounts.
func (l library) oldOverrides(v value, s Strategy) ([]Override, []Problem) {
	var raw oldOverride
	problems := decode(v, &raw, true)
	accounts := raw.AWSAccounts
	for _, one := range []value{raw.AWSAccount, raw.Shard} {
		if !one.absent() {
			accounts = append(accounts, one)
		}
	}
	if len(accounts) == 0 {
		problems = append(problems, v.refuse("the override names no account", "add awsAccounts")...)
	}
	var all []Override
	for _, account := range accounts {
		object, more := l.object(account, s)
		all = append(all, Override{Location: v.location(), Object: object, ImageRef: raw.ImageRef})
		problems = append(problems, more...)
	}
	return all, problems
}

// object reads the object that an override names. Overrides of static shards are ignored.
func (l library) object(v value, s Strategy) (Object, []Problem) {
	if s == Static {
		return Object{}, nil
	}
	schemas := map[Strategy]string{PerAccount: accountSchema, PerCluster: clusterSchema, PerOrganisation: organisationSchema}
	found, problems := l.find(v, schemas[s])
	if len(problems) > 0 {
		return Object{}, problems
	}
	return readObject(found)
}
