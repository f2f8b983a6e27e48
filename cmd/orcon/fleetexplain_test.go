package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shardedData writes data with accounts and one integration of each kind of shards.
func shardedData(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"ns.yml":   "$schema: /openshift/lean-namespace-1.yml\nname: tools\ncluster: {name: one}\nenvironment: {name: stage}\n",
		"far.yml":  "$schema: /openshift/lean-namespace-1.yml\nname: tools\ncluster: {name: two}\nenvironment: {name: prod}\n",
		"acc1.yml": "$schema: /aws/account-1.yml\nname: main\n",
		"acc2.yml": "$schema: /aws/account-1.yml\nname: Other\n",
		"static.yml": "$schema: /app-sre/integration-1.yml\nname: repos\nmanaged:\n- namespace: {$ref: /ns.yml}\n  spec: {resources: {}, storage: 1Gi, extraArgs: --fast}\n" +
			"  sharding: {strategy: static, shards: 3}\n- namespace: {$ref: /far.yml}\n  spec: {resources: {}}\n",
		"aws.yml": "$schema: /app-sre/integration-1.yml\nname: aws\nmanaged:\n- namespace: {$ref: /ns.yml}\n  spec: {resources: {}}\n" +
			"  sharding: {strategy: per-aws-account, shardSpecOverrides: [{shard: {$ref: /acc1.yml}, disabled: true}]}\n",
		"bad.yml": "$schema: /app-sre/integration-1.yml\nname: bad\nmanaged:\n- namespace: {$ref: /ns.yml}\n  spec: {resources: {}, colour: red}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

// An integration is explained by data files: places, shards, the shard of a key, fields without effect (FLEET.md P2, D3).
func TestFleetExplainData(t *testing.T) {
	chart := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(chart, "values.schema.json"), []byte(`{"properties": {"integrations": {"items": {"properties": {"colour": {}}}}}}`), 0o600))
	tests := map[string]struct {
		why   string
		args  []string
		code  int
		parts []string
	}{
		"Static": {"in each namespace, of all clusters", []string{"repos"}, 0, []string{
			"repos in namespace tools, environment stage, cluster one (/static.yml:4)\nSHARD     KEY   ARGUMENTS\nrepos-0         --fast\nrepos-1         --fast\nrepos-2         --fast\n",
			"  /static.yml:5: storage has no effect without cache: remove it\n",
			"repos in namespace tools, environment prod, cluster two (/static.yml:7)\nSHARD   KEY   ARGUMENTS\nrepos"}},
		"Key":         {"the reference's example", []string{"repos", "--key", "saas-qontract-reconcile", "--environment", "stage"}, 0, []string{"  key saas-qontract-reconcile belongs to repos-1\n", "not environment prod"}},
		"Account":     {"a shard for each", []string{"aws", "--key", "Other"}, 0, []string{"aws-Other   Other   --account-name Other\n", "aws-main    main    disabled: no replicas\n", "key Other belongs to aws-Other"}},
		"NoAccount":   {"no such account", []string{"aws", "--key", "third"}, 0, []string{"key third belongs to no shard: no object of this name is among them"}},
		"Bad":         {"with file and line", []string{"bad"}, exitMisuse, []string{`/bad.yml:5: unknown field "colour"`}},
		"Chart":       {"the chart adds the field", []string{"bad", "--chart", chart}, 0, []string{"bad in namespace tools"}},
		"Unknown":     {"the nearest name", []string{"repo"}, exitMisuse, []string{`is named "repo": did you mean "repos"?`}},
		"Environment": {"not there", []string{"aws", "--environment", "prod"}, exitMisuse, []string{`integration "aws" runs nowhere in`}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call("", append([]string{"fleet", "explain", "--data", shardedData(t)}, tc.args...)...)
			assert.Equal(t, tc.code, code, errs)
			for _, part := range tc.parts {
				if absent, not := strings.CutPrefix(part, "not "); not {
					assert.NotContains(t, out+errs, absent, tc.why)
				} else {
					assert.Contains(t, out+errs, part, tc.why)
				}
			}
		})
	}
}

// An integration is explained by a cluster: why a member waits (FLEET.md P2).
func TestFleetExplainCluster(t *testing.T) {
	const shards = `{"shards":"2","shard_id":"0","shard_name_suffix":"-0","extra_args":"--x"},{"shards":"2","shard_id":"1","shard_name_suffix":"-1","extra_args":"--x","shard_spec_overrides":{"disabled":true}}`
	ready := memberOf("dns", readyNow, shards)
	failing := memberOf("dns", readyAs("Failed", "revision 2 failed", "Stalled"), shards)
	waiting := setOf("", `"waits":[{"member":"dns in /places/stage.yml","message":"waits for a of wave 1"},{"member":"new in /places/stage.yml","message":"waits for dns"},{"member":"newer in /places/stage.yml","message":"x"}],
		"faults":["/integrations/dns.yml:9: wrong: mend it","/integrations/dns.yml2:9: other"],`+readyNow)
	tests := map[string]struct {
		why           string
		sets, members string
		args          []string
		code          int
		parts         []string
	}{
		"Ready": {"nothing waits", setOf("", readyNow), ready, []string{"dns", "--key", "saas-qontract-reconcile"}, 0, []string{
			"dns in namespace tools-stage (/integrations/dns.yml:5): ready\nBundleDeployment stage-dns-1 of set fleet/stage\nSHARD   KEY   ARGUMENTS\ndns-0         --x\ndns-1         disabled: no replicas\n",
			"key saas-qontract-reconcile belongs to dns-0\n"}},
		"Waits":   {"the set's and the member's own", waiting, failing, []string{"dns"}, exitFailed, []string{": failed\n", "  waits for a of wave 1\n  /integrations/dns.yml:9: wrong: mend it\n  revision 2 failed\n", "not other", "not waits for dns"}},
		"Held":    {"a member that is ready, but not as declared", waiting, ready, []string{"dns"}, exitFailed, []string{": ready\n", "  waits for a of wave 1\n"}},
		"NotMade": {"it comes later", waiting, ready, []string{"new"}, exitFailed, []string{"new in namespace /places/stage.yml (not made yet): waiting\n  waits for dns\n", "not newer"}},
		"Paused":  {"the set does nothing", setOf(`,"paused":true`, readyAs("Paused", "spec.paused is true", "Stalled")), ready, []string{"dns"}, exitFailed, []string{"  the set changes nothing: spec.paused is true\n"}},
		"Unknown": {"the nearest name", waiting, memberOf("github-repos", readyNow, `{}`), []string{"github-repo"}, exitMisuse, []string{`no integration of the sets of namespace fleet is named "github-repo": did you mean "github-repos"?`}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call("", append(append([]string{"fleet", "explain"}, tc.args...), fleetOf(t, tc.sets, tc.members)...)...)
			assert.Equal(t, tc.code, code, errs)
			for _, part := range tc.parts {
				if absent, not := strings.CutPrefix(part, "not "); not {
					assert.NotContains(t, out+errs, absent, tc.why)
				} else {
					assert.Contains(t, out+errs, part, tc.why)
				}
			}
		})
	}
	_, out, _ := call("", append([]string{"fleet", "explain", "dns", "-o", "json"}, fleetOf(t, waiting, ready)...)...)
	var all []explained
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Len(t, all, 1)
	assert.Equal(t, []explainedShard{{"dns-0", "", "--x", false}, {"dns-1", "", "--x", true}}, all[0].Shards)
}
