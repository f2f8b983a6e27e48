package data_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// FLEET.md D1: the shapes of two years of data mean the same.
func TestShapesOfSharding(t *testing.T) {
	image := "abc123"
	override := func(name string) data.Override {
		return data.Override{Object: data.Object{Name: name}, ImageRef: &image}
	}
	tests := map[string]struct {
		why, entry string
		operate    bool
		want       data.Sharding
	}{
		"None": {
			why: "one static shard", entry: "spec: {resources: {}}", want: data.Sharding{Strategy: data.Static, Shards: 1},
		},
		"Design": {
			why: "2022: shards inside spec", operate: true, entry: "spec: {resources: {}, shards: 3}",
			want: data.Sharding{Strategy: data.Static, Shards: 3},
		},
		"Inside": {
			why: "a strategy inside spec", entry: "spec: {resources: {}, shardingStrategy: per-aws-account}",
			want: data.Sharding{Strategy: data.PerAccount, Shards: 1},
		},
		"InsideWithOverrides": {
			why: "overrides inside spec",
			entry: "spec: {resources: {}, shardingStrategy: per-aws-account, " +
				"shardSpecOverrides: [{shard: {$ref: /aws/a.yml}, imageRef: abc123}]}",
			want: data.Sharding{Strategy: data.PerAccount, Shards: 1, Overrides: []data.Override{override("a")}},
		},
		"Sibling": {
			why: "2022-09 to 2023-04: a sibling lists accounts",
			entry: "spec: {resources: {}, shardingStrategy: per-aws-account}\n" +
				"  shardSpecOverride: [{imageRef: abc123, awsAccounts: [{$ref: /aws/a.yml}, {$ref: /aws/b.yml}]}]",
			want: data.Sharding{Strategy: data.PerAccount, Shards: 1, Overrides: []data.Override{override("a"), override("b")}},
		},
		"SiblingOfOne": {
			why: "before that, an account",
			entry: "spec: {resources: {}, shardingStrategy: per-aws-account}\n" +
				"  shardSpecOverride: [{shardingStrategy: per-aws-account, imageRef: abc123, awsAccount: {$ref: /aws/a.yml}}]",
			want: data.Sharding{Strategy: data.PerAccount, Shards: 1, Overrides: []data.Override{override("a")}},
		},
		"InsideSharding": {
			why: "the design of sub-shards wrote sharding inside spec", entry: "spec: {resources: {}, sharding: {strategy: static, shards: 2}}",
			want: data.Sharding{Strategy: data.Static, Shards: 2},
		},
		"Today": {
			why: "sharding beside spec",
			entry: "spec: {resources: {}}\n  sharding: {strategy: per-openshift-cluster, " +
				"shardSpecOverrides: [{shard: {$ref: /clusters/one.yml}, imageRef: abc123, subSharding: {strategy: static, shards: 4}}]}",
			want: data.Sharding{Strategy: data.PerCluster, Shards: 1, Overrides: []data.Override{
				{Object: data.Object{Name: "one"}, ImageRef: &image, SubShards: 4},
			}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			list := map[bool]string{false: "managed", true: "operate"}[tc.operate]
			d := read("-- /int/x.yml --\n$schema: /app-sre/integration-1.yml\nname: x\n"+list+":\n- namespace: {$ref: /ns/stage.yml}\n  "+tc.entry+"\n", data.Options{})
			require.Empty(t, problems(d), tc.why)
			got := d.Integrations[0].Entries[0].Sharding
			assert.Empty(t, got.Ignored, tc.why)
			got.Location, got.Ignored = data.Location{}, nil
			for i := range got.Overrides {
				got.Overrides[i].Location, got.Overrides[i].Object = data.Location{}, data.Object{Name: got.Overrides[i].Object.Name}
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}
