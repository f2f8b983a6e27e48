package fleet_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// Each key belongs to one static shard, and to the same one always.
func TestStaticShardIsAnAssignment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, count := rapid.String().Draw(t, "key"), rapid.IntRange(1, 1000).Draw(t, "count")
		n := fleet.StaticShard(key, count)
		assert.GreaterOrEqual(t, n, 0)
		assert.Less(t, n, count)
		assert.Equal(t, n, fleet.StaticShard(key, count))
	})
}

// The shards of a strategy are the objects that do not disable the integration.
func TestShardsFollowTheData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contents := map[string][]byte{
			"/ns.yml": []byte("$schema: /openshift/lean-namespace-1.yml\nname: a\ncluster: {name: one}\nenvironment: {name: e}\n"),
			"/int.yml": []byte("$schema: /app-sre/integration-1.yml\nname: x\nmanaged:\n- namespace: {$ref: /ns.yml}\n" +
				"  spec: {resources: {}}\n  sharding: {strategy: per-openshift-cluster}\n"),
		}
		var want []string
		for _, name := range rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{1,4}`), rapid.ID).Draw(t, "clusters") {
			disabled := rapid.SampledFrom([]string{"", "[]", "[y]", "[y, x]"}).Draw(t, "disabled")
			text := "$schema: /openshift/cluster-1.yml\nname: \"" + name + "\"\n"
			if disabled != "" {
				text += "disable: {integrations: " + disabled + "}\n"
			}
			if !strings.Contains(disabled, "x") {
				want = append(want, name)
			}
			contents[fmt.Sprintf("/%s.yml", rapid.StringMatching(`[a-z]{6}`).Draw(t, "file")+name)] = []byte(text)
		}
		slices.Sort(want)
		s, err := fleet.Select(data.Read(contents, data.Options{}), fleet.Filter{})
		require.NoError(t, err)
		require.Empty(t, s.Held)
		var got []string
		for _, shard := range s.Members[1].Shards {
			got = append(got, shard.Key)
		}
		assert.Equal(t, want, got)
	})
}

// FLEET.md D1: what happens to one file changes no member of another integration.
func TestOneFileStopsItsOwnIntegrationOnly(t *testing.T) {
	contents := map[string][]byte{}
	for _, f := range txtar.Parse([]byte(estate + declare("a", "", "stage", "prod") + declare("b", "", "stage") + declare("c", "", "prod"))).Files {
		contents[f.Name] = f.Data
	}
	others := func(contents map[string][]byte) []fleet.Member {
		s, _ := fleet.Select(data.Read(contents, data.Options{}), fleet.Filter{Cluster: "one"})
		return slices.DeleteFunc(s.Members, func(m fleet.Member) bool { return m.Integration == "" || m.Location.File == "/int/b.yml" })
	}
	want := others(contents)
	require.Len(t, want, 3)
	rapid.Check(t, func(t *rapid.T) {
		broken := maps.Clone(contents)
		file := slices.Clone(broken["/int/b.yml"])
		at := rapid.IntRange(0, len(file)-1).Draw(t, "at")
		broken["/int/b.yml"] = slices.Concat(file[:at], rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "bytes"), file[min(len(file), at+1):])
		assert.Equal(t, want, others(broken))
	})
}

// Any text in the data is the same text for the chart, whose YAML is an older one.
func TestTextsSurviveYAML(t *testing.T) {
	odd := []string{"yes", "No", "on", "0o17", "017", "1_000", "1:30", "0x1f", "1e3", ".5", "~", "null", "", " ", "- a", "a: b", "#", "2001-01-01", "=", "<<"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SampledFrom(odd), rapid.StringMatching(`[ -~\n\t]{0,12}`)).Draw(t, "text")
		m := fleet.Member{Integration: "x", Spec: data.Spec{ExtraArgs: &text}, Shards: []fleet.Shard{{Args: text}}}
		v, err := m.Values(nil)
		require.NoError(t, err)
		written, err := v.YAML()
		if errors.Is(err, fleet.ErrText) {
			assert.Regexp(t, `(?s)^\s.*\n|^\n`, text, "other texts are written")
			return
		}
		require.NoError(t, err)
		var read struct {
			Integrations []struct {
				ExtraArgs  string
				ShardSpecs []map[string]string `json:"shard_specs"`
			}
		}
		require.NoError(t, yaml.Unmarshal(written, &read), string(written))
		assert.Equal(t, text, read.Integrations[0].ExtraArgs)
		assert.Equal(t, text, read.Integrations[0].ShardSpecs[0]["extra_args"])
	})
}

// large returns a fleet of 500 integrations in 3 environments.
func large() map[string][]byte {
	contents := map[string][]byte{}
	for _, e := range []string{"dev", "stage", "prod"} {
		contents["/ns/"+e+".yml"] = fmt.Appendf(nil, "$schema: /openshift/lean-namespace-1.yml\nname: %s\ncluster: {name: one}\nenvironment: {name: %s}\n", e, e)
	}
	for i := range 500 {
		text := fmt.Sprintf("$schema: /app-sre/integration-1.yml\nname: i-%d\nmanaged:\n", i)
		for _, e := range []string{"dev", "stage", "prod"} {
			text += "- namespace: {$ref: /ns/" + e + ".yml}\n  spec: {resources: {limits: {memory: 1Mi}}, extraArgs: --x, logs: {slack: true}}\n"
		}
		contents[fmt.Sprintf("/int/%d.yml", i)] = []byte(text)
	}
	return contents
}

func BenchmarkSelect(b *testing.B) {
	contents := large()
	for b.Loop() {
		s, err := fleet.Select(data.Read(contents, data.Options{}), fleet.Filter{Cluster: "one"})
		if err != nil || len(s.Members) != 1503 {
			b.Fatal(len(s.Members), err)
		}
		for _, m := range s.Members {
			v, err := m.Values(nil)
			require.NoError(b, err)
			_, err = v.YAML()
			require.NoError(b, err)
		}
		fleet.Findings(s.Members)
	}
}
