package data_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// estate are files that the cases below refer to.
const estate = `
-- /ns/stage.yml --
$schema: /openshift/namespace-1.yml
name: tools
cluster: {$ref: /clusters/one.yml}
environment: {$ref: /env/stage.yml}
whatever: {is: ignored}
-- /ns/lean.yml --
$schema: /openshift/lean-namespace-1.yml
name: lean
cluster: {name: two, serverUrl: "https://two", automationToken: {path: p, field: f}}
environment: {name: prod}
-- /clusters/one.yml --
$schema: /openshift/cluster-1.yml
name: one
serverUrl: https://one
-- /env/stage.yml --
$schema: /app-sre/environment-1.yml
name: stage
parameters: {SLACK_CHANNEL: tools, LOG: true}
-- /aws/a.yml --
$schema: /aws/account-1.yml
name: a
-- /aws/b.yml --
$schema: /aws/account-1.yml
name: b
disable: {integrations: [other]}
-- /ocm/org.yml --
$schema: /openshift/openshift-cluster-manager-1.yml
name: org
orgId: 1AbC
`

// read reads the estate with further files, which replace those of the same path.
func read(files string, options data.Options) data.Data {
	contents := map[string][]byte{}
	for _, f := range append(txtar.Parse([]byte(estate)).Files, txtar.Parse([]byte(files)).Files...) {
		contents[f.Name] = f.Data
	}
	return data.Read(contents, options)
}

// problems lists all problems of the data.
func problems(d data.Data) []string {
	all := d.Problems
	for _, i := range d.Integrations {
		all = append(all, i.Held...)
		for _, e := range i.Entries {
			all = append(all, e.Held...)
		}
	}
	var lines []string
	for _, p := range all {
		lines = append(lines, p.String())
	}
	return lines
}

func TestReadsAnIntegration(t *testing.T) {
	d := read(`
-- /int/github.yml --
---
$schema: /app-sre/integration-1.yml
labels: {team: tools, weight: 3}
name: github
description: keeps teams
upstream: https://example.com/upstream
schemas: [/a.yml]
pr_check: {cmd: github, anything: true}
managed:
- namespace:
    $ref: /ns/stage.yml
  spec:
    resources: {requests: {cpu: 1, memory: 1.5}, limits: {memory: "1"}}
    failedJobHistoryLimit: 0
    logs: {slack: false}
    sleepDurationSecs: 300
    extraEnv:
    - {secretName: s, secretKey: k}
    - {name: n, value: "true"}
- namespace: {$ref: /ns/lean.yml}
  spec: {resources: {}}
`, data.Options{})
	require.Empty(t, problems(d))
	require.Len(t, d.Integrations, 1)
	i := d.Integrations[0]
	assert.Equal(t, "github", i.Name)
	assert.Equal(t, map[string]string{"team": "tools"}, i.Labels)
	assert.Equal(t, "https://example.com/upstream", i.Upstream)
	require.Len(t, i.Entries, 2)
	e := i.Entries[0]
	assert.Equal(t, "/int/github.yml:10", e.Location.String())
	assert.Equal(t, "/int/github.yml:14", e.At("failedJobHistoryLimit").String())
	assert.Equal(t, e.Location, e.At("cache"))
	assert.Equal(t, data.Namespace{
		Path: "/ns/stage.yml", Name: "tools", Cluster: data.Cluster{Name: "one", ServerURL: "https://one"},
		Environment: data.Environment{Name: "stage", Parameters: map[string]any{"SLACK_CHANNEL": "tools", "LOG": true}},
	}, e.Namespace)
	assert.Equal(t, 0, *e.Spec.FailedJobHistoryLimit, "0 is not the default")
	assert.False(t, *e.Spec.Logs.Slack, "false is not absent")
	assert.Nil(t, e.Spec.SuccessfulJobHistoryLimit)
	assert.Equal(t, data.Quantity("300"), *e.Spec.SleepDurationSecs)
	assert.Equal(t, data.Quantity("1"), *e.Spec.Resources.Requests.CPU)
	assert.Equal(t, data.Quantity("1.5"), *e.Spec.Resources.Requests.Memory)
	assert.Nil(t, e.Spec.Resources.Limits.CPU)
	assert.Equal(t, "true", *e.Spec.ExtraEnv[1].Value)
	assert.Equal(t, data.Static, e.Sharding.Strategy)
	assert.Equal(t, 1, e.Sharding.Shards)
	lean := i.Entries[1].Namespace
	assert.Equal(t, data.Cluster{Name: "two", ServerURL: "https://two"}, lean.Cluster)
	assert.Equal(t, "prod", lean.Environment.Name)
	assert.True(t, d.Has("int/github.yml"), "the leading slash is optional for callers")
	assert.False(t, d.Has("/int/gone.yml"))
}

func TestReadsJSON(t *testing.T) {
	d := read(`
-- int/x.json --
{"name": "x", "managed": [{"spec": {"resources": {}, "cahce": true, "cron": null, "extraEnv": [{"name": "A", "value": "b", "secretName": null}]}, "sharding": null, "namespace": {"path": "/ns/x.yml", "name": "x",`+
		`"cluster": {"name": "one"}, "environment": {"name": "e", "parameters": "{\"A\": 1}"}}}], "$schema": "/app-sre/integration-1.yml"}
`, data.Options{SpecFields: []string{"cahce"}})
	require.Empty(t, problems(d), "GraphQL sources write objects in place and parameters as a text")
	n := d.Integrations[0].Entries[0].Namespace
	assert.Equal(t, "/ns/x.yml", n.Path)
	assert.Equal(t, map[string]any{"A": 1.0}, n.Environment.Parameters)
	assert.Equal(t, map[string]any{"cahce": true}, d.Integrations[0].Entries[0].Spec.Extra, "a chart may add fields")

	d = read("-- /int/x.json --\n"+`{"$schema": "/app-sre/integration-1.yml", "name": "x", "managed": [{"spec": {}, "naemspace": 1}]}`+"\n", data.Options{})
	assert.Contains(t, problems(d), `/int/x.json#/managed/0/naemspace: unknown field "naemspace": did you mean "namespace"?`, "one line has no line numbers")
}

// A file's kind is known without parsing it; a kind that is not found must not remove what
// runs.
func TestKindsOfFiles(t *testing.T) {
	tests := map[string]struct{ why, content, want string }{
		"Nested": {
			why:     "another object's schema is not the file's",
			content: `{"schemas": {"$schema": "/x.yml"}, "colour": "red", "name": "x", "$schema": "/app-sre/integration-1.yml"}`,
			want:    `/f#/colour: unknown field "colour"`,
		},
		"Invalid": {
			why: "JSON that is not valid has a kind", content: `{"$schema": "/app-sre/integration-1.yml", "name": `, want: `/f: the file is not valid YAML`,
		},
		"Quoted":   {why: "as YAML allows", content: "'$schema': '/app-sre/integration-1.yml'\nname: []", want: "/f:2: it is not a text"},
		"Comment":  {why: "as YAML allows", content: "---\n# head\n$schema: /app-sre/integration-1.yml # tail\nname: []", want: "/f:4: it is not a text"},
		"Mark":     {why: "editors write byte order marks", content: "\ufeff$schema: /app-sre/integration-1.yml\nname: []", want: "/f:2: it is not a text"},
		"Returns":  {why: "editors write carriage returns", content: "$schema: /app-sre/integration-1.yml\r\nname: []\r\n", want: "/f:2: it is not a text"},
		"Indented": {why: "a mapping may be indented", content: "  $schema: /app-sre/integration-1.yml\n  name: x", want: "/f: the file lists"},
		"None":     {why: "a schema may be forgotten", content: "name: x\nmanaged: []", want: "/f: the file lists where an integration runs and has no $schema"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			found := problems(data.Read(map[string][]byte{"f": []byte(tc.content)}, data.Options{}))
			require.Len(t, found, 1, tc.why)
			assert.Contains(t, found[0], tc.want, tc.why)
		})
	}
	other := data.Read(map[string][]byte{"f": []byte("$schema: /app-sre/app-1.yml\nname: [")}, data.Options{})
	assert.Empty(t, problems(other), "files of other kinds are not parsed")
	assert.True(t, other.Has("/f"))
}

const head = "-- /int/x.yml --\n$schema: /app-sre/integration-1.yml\nname: x\nmanaged:\n- namespace: {$ref: /ns/stage.yml}\n"

func TestProblemsOfAFile(t *testing.T) {
	tests := map[string]struct{ why, files, want string }{
		"Field": {
			why: "strict, with the nearest name", files: head + "  spec: {resources: {}, cahce: true}",
			want: `/int/x.yml:5: unknown field "cahce": did you mean "cache"?`,
		},
		"FieldOnTop": {
			why: "strict everywhere in the file", files: head + "  spec: {resources: {}}\nupsteram: y",
			want: `/int/x.yml:6: unknown field "upsteram": did you mean "upstream"?`,
		},
		"FieldBelow": {
			why: "and in nested objects", files: head + "  spec:\n    resources:\n      limit: {memory: 1Mi}",
			want: `/int/x.yml:7: unknown field "limit": did you mean "limits"?`,
		},
		"Reserved": {
			why: "a chart's item has a name, a spec does not", files: head + "  spec: {resources: {}, shard_specs: []}",
			want: `/int/x.yml:5: unknown field "shard_specs": correct the name, or remove it`,
		},
		"Required": {
			why: "resources are required", files: head + "  spec: {cache: true}",
			want: `/int/x.yml:5: field "resources" is missing: add it`,
		},
		"RequiredEmpty": {
			why: "an empty name is none", files: "-- /int/x.yml --\n$schema: /app-sre/integration-1.yml\nname: ''",
			want: `/int/x.yml:1: field "name" is missing: add it`,
		},
		"Number": {
			why: "a commit of digits would become another one", files: head + "  spec: {resources: {}, imageRef: 0123456}",
			want: `/int/x.yml:5: YAML reads the unquoted 0123456 as a number: quote it: "0123456"`,
		},
		"Boolean": {
			why: "C3", files: head + "  spec:\n    resources: {}\n    extraEnv:\n    - {name: A, value: true}",
			want: `/int/x.yml:8: YAML reads the unquoted true as a boolean: quote it: "true"`,
		},
		"NotBoolean": {
			why: "types are checked", files: head + "  spec: {resources: {}, cache: maybe}",
			want: `/int/x.yml:5: "maybe" is not true or false: write true or false`,
		},
		"Enum": {
			why: "values are checked", files: head + "  spec: {resources: {}, concurrencyPolicy: Forbit}",
			want: `/int/x.yml:5: "Forbit" is not a value of concurrencyPolicy: did you mean "Forbid"?`,
		},
		"Variable": {
			why: "two forms", files: head + "  spec: {resources: {}, extraEnv: [{name: A, secretKey: b}]}",
			want: `/int/x.yml:5: the variable has neither of its two forms: write secretName and secretKey, or name and value`,
		},
		"Twice": {
			why: "YAML would keep one", files: head + "  spec:\n    resources: {}\n    cache: true\n    cache: false",
			want: `/int/x.yml:8: field "cache" is written twice: keep one`,
		},
		"Syntax": {
			why: "with the library's line", files: "-- /int/x.yml --\n$schema: /app-sre/integration-1.yml\nname: x\n  managed: [",
			want: `/int/x.yml:3: the file is not valid YAML (mapping values are not allowed in this context): correct the syntax`,
		},
		"Tag": {
			why: "a text has no tag", files: head + "  spec: {resources: {}, extraArgs: !secret x}",
			want: `/int/x.yml:5: YAML reads the unquoted x as a !secret: quote it: "x"`,
		},
		"Documents": {
			why: "a second one would be ignored", files: head + "  spec: {resources: {}}\n---\na: 1",
			want: `/int/x.yml:6: the file has a second document, which would be ignored: move it to a file of its own`,
		},
		"Missing": {
			why:   "the nearest path",
			files: "-- /int/x.yml --\n$schema: /app-sre/integration-1.yml\nname: x\nmanaged:\n- namespace:\n    $ref: /ns/stag.yml\n  spec: {resources: {}}",
			want:  `/int/x.yml:5: /ns/stag.yml is not in the data: did you mean "/ns/stage.yml"?`,
		},
		"Kind": {
			why:   "a namespace must be one",
			files: "-- /int/x.yml --\n$schema: /app-sre/integration-1.yml\nname: x\nmanaged:\n- namespace: {$ref: /aws/a.yml}\n  spec: {resources: {}}",
			want: `/int/x.yml:4: /aws/a.yml has schema /aws/account-1.yml: ` +
				`name a file of schema /openshift/namespace-1.yml or /openshift/lean-namespace-1.yml`,
		},
		"Strategy": {
			why: "an unknown strategy never falls back to static", files: head + "  spec: {resources: {}}\n  sharding: {strategy: per-cluster}",
			want: `/int/x.yml:6: sharding strategy "per-cluster" is not supported: use one of static, per-aws-account, per-openshift-cluster, per-ocm-organization`,
		},
		"TwoWays": {
			why: "one would be ignored", files: head + "  spec: {resources: {}, shards: 2}\n  sharding: {strategy: static, shards: 3}",
			want: `/int/x.yml:6: sharding is written in two ways: keep the field sharding beside spec and remove the other`,
		},
		"NoShards": {
			why: "0 would run nothing", files: head + "  spec: {resources: {}, shards: 0}",
			want: `/int/x.yml:5: shards is 0: write a number from 1 to 1000`,
		},
		"TwoOverrides": {
			why: "one would be ignored",
			files: head + "  spec: {resources: {}}\n  sharding:\n    strategy: per-aws-account\n    shardSpecOverrides:\n" +
				"    - {shard: {$ref: /aws/a.yml}, imageRef: x}\n    - {shard: {$ref: /aws/a.yml}, disabled: true}",
			want: `/int/x.yml:10: shard "a" is overridden twice: merge the two`,
		},
		"SubShards": {
			why: "the reference divides clusters only",
			files: head + "  spec: {resources: {}}\n  sharding:\n    strategy: per-aws-account\n    shardSpecOverrides:\n" +
				"    - {shard: {$ref: /aws/a.yml}, subSharding: {strategy: static, shards: 2}}",
			want: `/int/x.yml:9: only shards of clusters can be divided further: remove subSharding`,
		},
		"BothLists": {
			why: "one would be ignored", files: head + "  spec: {resources: {}}\noperate:\n- namespace: {$ref: /ns/lean.yml}\n  spec: {resources: {}}",
			want: `/int/x.yml:1: the file has both managed and operate: move all entries to managed`,
		},
		"NamespaceTwice": {
			why: "two objects of one name", files: head + "  spec: {resources: {}}\n- namespace: {$ref: /ns/stage.yml}\n  spec: {resources: {}}",
			want: `/int/x.yml:6: namespace /ns/stage.yml has two entries: merge the two`,
		},
		"NameTwice": {
			why: "two files of one integration", files: head + "  spec: {resources: {}}\n-- /int/y.yml --\n$schema: /app-sre/integration-1.yml\nname: x",
			want: `/int/y.yml:1: name "x" is also that of /int/x.yml: rename one`,
		},
		"Schema": {
			why: "a misspelt schema must not remove what runs", files: "-- /int/x.yml --\n$schema: /app-sre/integraton-1.yml\nname: x\nmanaged: []",
			want: `/int/x.yml: the file lists where an integration runs and has schema "/app-sre/integraton-1.yml": write $schema: /app-sre/integration-1.yml`,
		},
		"Merges": {
			why: "merges of merges grow without bound", files: head + "  spec: {<<: {<<: {cache: true}}, resources: {}}",
			want: `/int/x.yml:5: a merged mapping merges another one: write its fields out`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := read(tc.files+"\n", data.Options{SpecFields: []string{"shard_specs"}})
			assert.Contains(t, problems(d), tc.want, tc.why)
		})
	}
}

// FLEET.md D1: a bad file holds what depends on it and nothing else.
func TestABadFileHoldsItsDependents(t *testing.T) {
	integrations := head + `  spec: {resources: {}}
- namespace: {$ref: /ns/lean.yml}
  spec: {resources: {}}
-- /int/y.yml --
$schema: /app-sre/integration-1.yml
name: y
managed:
- namespace: {$ref: /ns/lean.yml}
  spec: {resources: {}}
  sharding: {strategy: per-aws-account}
-- /int/z.yml --
$schema: /app-sre/integration-1.yml
name: z
managed:
- namespace: {$ref: /ns/lean.yml}
  spec: {resources: {}}
  sharding: {strategy: per-openshift-cluster}
-- /int/o.yml --
$schema: /app-sre/integration-1.yml
name: o
managed:
- namespace: {$ref: /ns/lean.yml}
  spec: {resources: {}}
  sharding: {strategy: per-ocm-organization}
`
	tests := map[string]struct {
		why, file string
		// held lists integrations, and entries as x/0.
		held []string
	}{
		"None":        {why: "all well"},
		"Integration": {why: "its own", file: "-- /int/x.yml --\n$schema: /app-sre/integration-1.yml\nname: [", held: []string{"/int/x.yml"}},
		"Namespace":   {why: "one entry", file: "-- /ns/stage.yml --\n$schema: /openshift/namespace-1.yml\nname: [", held: []string{"x/0"}},
		"NamespaceField": {
			why:  "a field that is used",
			file: "-- /ns/stage.yml --\n$schema: /openshift/namespace-1.yml\nname: a\ncluster: {$ref: /clusters/one.yml}", held: []string{"x/0"},
		},
		"Cluster": {
			why:  "namespaces on it, and shards of clusters",
			file: "-- /clusters/one.yml --\n$schema: /openshift/cluster-1.yml\nserverUrl: x", held: []string{"x/0", "z/0"},
		},
		"Environment": {
			why:  "namespaces in it",
			file: "-- /env/stage.yml --\n$schema: /app-sre/environment-1.yml\nname: stage\nparameters: {A: }", held: []string{"x/0"},
		},
		"Parameters": {
			why:  "a list has no names",
			file: "-- /env/stage.yml --\n$schema: /app-sre/environment-1.yml\nname: stage\nparameters: [A]", held: []string{"x/0"},
		},
		"Account":     {why: "shards of accounts", file: "-- /aws/a.yml --\n$schema: /aws/account-1.yml\nname: {", held: []string{"y/0"}},
		"AccountTwin": {why: "two shards of one name", file: "-- /aws/c.yml --\n$schema: /aws/account-1.yml\nname: a", held: []string{"y/0"}},
		"Organisation": {
			why: "a shard is named after the ID", file: "-- /ocm/org.yml --\n$schema: /openshift/openshift-cluster-manager-1.yml\nname: org",
			held: []string{"o/0"},
		},
		"Cycle": {
			why:  "references that never end",
			file: "-- /ns/stage.yml --\n$schema: /openshift/namespace-1.yml\n$ref: /ns/other.yml\n-- /ns/other.yml --\n$schema: /openshift/namespace-1.yml\n$ref: /ns/stage.yml",
			held: []string{"x/0"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := read(integrations+tc.file+"\n", data.Options{})
			var held []string
			for _, i := range d.Integrations {
				if len(i.Held) > 0 {
					held = append(held, i.Location.File)
				}
				for n, e := range i.Entries {
					if len(e.Held) > 0 {
						held = append(held, i.Name+"/"+string(rune('0'+n)))
					}
				}
			}
			assert.Equal(t, tc.held, held, tc.why)
		})
	}
}

func TestDataAreInOrderOfPath(t *testing.T) {
	var files string
	for _, name := range []string{"d", "b", "a", "c"} {
		files += "-- /int/" + name + ".yml --\n$schema: /app-sre/integration-1.yml\nname: x" + name + "\n"
	}
	for range 10 {
		var got []string
		for _, i := range read(files, data.Options{}).Integrations {
			got = append(got, i.Name)
		}
		require.Equal(t, []string{"xa", "xb", "xc", "xd"}, got, "maps have no order")
	}
}

func TestMergedAndAliasedValues(t *testing.T) {
	d := read("-- /int/x.yml --\n"+`$schema: /app-sre/integration-1.yml
name: x
managed:
- namespace: {$ref: /ns/stage.yml}
  spec: &base {resources: &r {limits: {memory: 1Mi}}, cache: true, storage: 2Gi}
- namespace: {$ref: /ns/lean.yml}
  spec: {<<: *base, cache: false, fluentdResources: *r}
`, data.Options{})
	require.Empty(t, problems(d))
	spec := d.Integrations[0].Entries[1].Spec
	assert.False(t, *spec.Cache, "an own field wins")
	assert.Equal(t, data.Quantity("2Gi"), *spec.Storage)
	assert.Equal(t, spec.Resources, spec.FluentdResources)
}
