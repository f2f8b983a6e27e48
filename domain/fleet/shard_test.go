package fleet_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
)

// Shards of an account come first by a pattern that fits their workloads, and not those of an account whose name ends alike
// (FLEET-DESIGN 7).
func TestCanaries(t *testing.T) {
	m := fleet.Member{Integration: "users", Shards: []fleet.Shard{
		{Key: "prod", Suffix: "-prod"}, {Key: "app-prod", Suffix: "-app-prod"}, {Key: "Big", ID: "0", Suffix: "-Big-0"}, {ID: "1", Suffix: "-1"},
	}}
	assert.Equal(t, []string{"*users-prod", "*users-big-0"}, m.Canaries([]string{"prod", "Big", "none", ""}))
	assert.Empty(t, m.Canaries(nil))
}

// A key belongs to the shards of the object that it names, or to the static shard of its checksum (FLEET.md D3).
func TestShardsOf(t *testing.T) {
	static := func(key string, count int) []fleet.Shard {
		var all []fleet.Shard
		for i := range count {
			all = append(all, fleet.Shard{Count: strconv.Itoa(count), ID: strconv.Itoa(i), Key: key, Suffix: "-" + key + strconv.Itoa(i)})
		}
		return all
	}
	objects := append([]fleet.Shard{{Key: "one", Suffix: "-one"}, {Key: "two", Suffix: "-two"}}, static("big", 3)...)
	tests := map[string]struct {
		why    string
		shards []fleet.Shard
		key    string
		want   []string
	}{
		"Static":  {"the reference's example: shard 1 of 3", static("", 3), "saas-qontract-reconcile", []string{"-1"}},
		"Whole":   {"one shard has all", static("", 1), "saas-qontract-reconcile", []string{"-0"}},
		"Object":  {"a name", objects, "two", []string{"-two"}},
		"Divided": {"all parts of a name", objects, "big", []string{"-big0", "-big1", "-big2"}},
		"Part":    {"a key in what is divided", objects, "saas-qontract-reconcile", []string{"-big1"}},
		"Nothing": {"no shard has it", objects[:2], "three", nil},
		"Empty":   {"no object has no name", []fleet.Shard{{}}, "", nil},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var got []string
			for _, s := range fleet.ShardsOf(tc.shards, tc.key) {
				got = append(got, s.Suffix)
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 20).Draw(t, "count")
		assert.Len(t, fleet.ShardsOf(static("", count), rapid.String().Draw(t, "key")), 1, "each key is in one static shard")
	})
}
