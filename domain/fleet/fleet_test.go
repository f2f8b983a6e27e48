package fleet_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

//nolint:gochecknoglobals // a flag
var update = flag.Bool("update", false, "write the golden files")

// read reads data from an archive.
func read(t *testing.T, archive *txtar.Archive, options data.Options) data.Data {
	t.Helper()
	contents := map[string][]byte{}
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "want/") {
			contents[f.Name] = f.Data
		}
	}
	return data.Read(contents, options)
}

// estate holds three namespaces on two clusters, in two environments.
const estate = `
-- /ns/stage.yml --
$schema: /openshift/lean-namespace-1.yml
name: tools
cluster: {name: one, serverUrl: "https://one:6443"}
environment: {name: stage, parameters: {SLACK_CHANNEL: stage}}
-- /ns/prod.yml --
$schema: /openshift/lean-namespace-1.yml
name: tools
cluster: {name: one, serverUrl: "https://one:6443"}
environment: {name: prod}
-- /ns/far.yml --
$schema: /openshift/lean-namespace-1.yml
name: tools
cluster: {name: two, serverUrl: "https://two:6443"}
environment: {name: prod}
`

// declare returns a file that runs an integration in namespaces.
func declare(name, upstream string, namespaces ...string) string {
	text := "-- /int/" + name + ".yml --\n$schema: /app-sre/integration-1.yml\nname: " + name + "\n"
	if upstream != "" {
		text += "upstream: " + upstream + "\n"
	}
	text += "managed:\n"
	for _, n := range namespaces {
		text += "- namespace: {$ref: /ns/" + n + ".yml}\n  spec: {resources: {limits: {memory: 1Mi}}}\n"
	}
	return text
}

// selected reads the estate with further files and selects of it.
func selected(t *testing.T, files string, f fleet.Filter) (fleet.Selection, error) {
	t.Helper()
	return fleet.Select(read(t, txtar.Parse([]byte(estate+files)), data.Options{}), f)
}

// members lists namespace and integration.
func members(s fleet.Selection) []string {
	var all []string
	for _, m := range s.Members {
		all = append(all, filepath.Base(m.Namespace.Path)+" "+m.Integration)
	}
	return all
}

// A filter selects environments, an upstream and a cluster (FLEET.md D4).
func TestSelect(t *testing.T) {
	files := declare("github", "up", "stage", "prod", "far") + declare("quay", "other", "stage")
	tests := map[string]struct {
		why       string
		files     string
		filter    fleet.Filter
		want      []string
		held      []string
		elsewhere int
		err       error
	}{
		"Cluster": {
			why:    "entries of other clusters are counted; a namespace has a member of its own",
			filter: fleet.Filter{Cluster: "one"}, elsewhere: 1,
			want: []string{"prod.yml ", "prod.yml github", "stage.yml ", "stage.yml github", "stage.yml quay"},
		},
		"Environment": {
			why: "D4", filter: fleet.Filter{Cluster: "one", Environments: []string{"stage"}},
			want: []string{"stage.yml ", "stage.yml github", "stage.yml quay"},
		},
		"EnvironmentElsewhere": {
			why: "other clusters count within the environment", filter: fleet.Filter{Cluster: "one", Environments: []string{"prod"}},
			want: []string{"prod.yml ", "prod.yml github"}, elsewhere: 1,
		},
		"Upstream": {
			why: "D4", filter: fleet.Filter{Cluster: "one", Upstream: "other"}, want: []string{"stage.yml ", "stage.yml quay"},
		},
		"Integrations": {
			why: "migration takes over one at a time", filter: fleet.Filter{Cluster: "one", Integrations: []string{"quay"}},
			want: []string{"stage.yml ", "stage.yml quay"},
		},
		"SeveralClusters": {
			why: "a set without a cluster must not stamp for another one", err: fleet.ErrClusters,
			want: []string{"far.yml ", "far.yml github", "prod.yml ", "prod.yml github", "stage.yml ", "stage.yml github", "stage.yml quay"},
		},
		"OneOfSeveral": {
			why: "the filtered part has one cluster", filter: fleet.Filter{Environments: []string{"stage"}},
			want: []string{"stage.yml ", "stage.yml github", "stage.yml quay"},
		},
		"ServerURL": {
			why: "the same name may be another cluster", filter: fleet.Filter{Cluster: "two", ServerURL: "https://three:6443"},
			want: []string{"far.yml ", "far.yml github"}, elsewhere: 3, err: fleet.ErrServerURL,
		},
		"ServerURLWithSlash": {
			why: "a slash at the end means nothing", filter: fleet.Filter{Cluster: "two", ServerURL: "https://two:6443/"},
			want: []string{"far.yml ", "far.yml github"}, elsewhere: 3,
		},
		"HeldIntegration": {
			why: "its namespaces go on", files: "-- /int/github.yml --\n$schema: /app-sre/integration-1.yml\nname: github\ncolour: red\n" +
				"managed:\n- namespace: {$ref: /ns/prod.yml}\n  spec: {resources: {}}\n",
			filter: fleet.Filter{Cluster: "one"}, want: []string{"prod.yml ", "stage.yml ", "stage.yml quay"}, held: []string{"github "},
		},
		"HeldFile": {
			why: "what cannot be read is not excluded by any filter", files: "-- /int/github.yml --\n$schema: /app-sre/integration-1.yml\nname: [\n",
			filter: fleet.Filter{Cluster: "one", Upstream: "other", Integrations: []string{"quay"}},
			want:   []string{"stage.yml ", "stage.yml quay"}, held: []string{" "},
		},
		"HeldDisguise": {
			why: "a misspelt schema stops nothing", files: "-- /int/github.yml --\n$schema: /app-sre/integration.yml\nname: github\nmanaged: []\n",
			filter: fleet.Filter{Cluster: "one"}, want: []string{"stage.yml ", "stage.yml quay"}, held: []string{" "},
		},
		"HeldParameters": {
			why: "a namespace with wrong parameters has no member of its own, either",
			files: "-- /ns/stage.yml --\n$schema: /openshift/lean-namespace-1.yml\nname: tools\ncluster: {name: one}\n" +
				"environment: {name: stage, parameters: {A: }}\n",
			filter: fleet.Filter{Cluster: "one"}, want: []string{"prod.yml ", "prod.yml github"}, elsewhere: 1,
			held: []string{"github stage.yml", "quay stage.yml"},
		},
		"HeldEntry": {
			why: "its other namespaces go on", files: "-- /ns/stage.yml --\n$schema: /openshift/lean-namespace-1.yml\nname: [\n",
			filter: fleet.Filter{Cluster: "one"}, want: []string{"prod.yml ", "prod.yml github"}, elsewhere: 1, held: []string{"github stage.yml", "quay stage.yml"},
		},
		"HeldElsewhere": {
			why: "a known other cluster is no reason to wait",
			files: "-- /aws/a.yml --\n$schema: /aws/account-1.yml\nname: {\n-- /int/x.yml --\n$schema: /app-sre/integration-1.yml\nname: x\nmanaged:\n" +
				"- {namespace: {$ref: /ns/far.yml}, spec: {resources: {}}, sharding: {strategy: per-aws-account}}\n" +
				"- {namespace: {$ref: /ns/prod.yml}, spec: {resources: {}}, sharding: {strategy: per-aws-account}}\n",
			filter: fleet.Filter{Cluster: "one", Integrations: []string{"x"}}, want: []string{"prod.yml "}, elsewhere: 1,
			held: []string{"x prod.yml"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := selected(t, files+tc.files, tc.filter)
			require.ErrorIs(t, err, tc.err, tc.why)
			assert.Equal(t, tc.want, members(s), tc.why)
			assert.Equal(t, tc.elsewhere, s.Elsewhere, tc.why)
			var held []string
			for _, h := range s.Held {
				held = append(held, h.Integration+" "+strings.TrimPrefix(h.Namespace, "/ns/"))
				assert.NotEmpty(t, h.Problems, tc.why)
				assert.NotEmpty(t, h.File, tc.why)
			}
			assert.Equal(t, tc.held, held, tc.why)
		})
	}
}

func TestProvenance(t *testing.T) {
	s, err := selected(t, declare("github", "up", "stage", "prod"), fleet.Filter{Cluster: "one"})
	require.NoError(t, err)
	var places []string
	for _, m := range s.Members {
		places = append(places, m.Location.String())
	}
	assert.Equal(t, []string{"/ns/prod.yml", "/int/github.yml:7", "/ns/stage.yml", "/int/github.yml:5"}, places)
}

// FLEET.md D3: the assignment of keys equals the reference's, which integrations compute too.
func TestStaticShard(t *testing.T) {
	assert.Equal(t, 1, fleet.StaticShard("saas-qontract-reconcile", 3))
	// md5("") is d41d8cd98f00b204e9800998ecf8427e, an even number that ends in e.
	assert.Equal(t, 14, fleet.StaticShard("", 16))
	assert.Equal(t, 0, fleet.StaticShard("x", 1))
	assert.Equal(t, 0, fleet.StaticShard("x", 0), "no shards is one")
}

// FLEET.md O2: guards count what runs.
func TestWorkloads(t *testing.T) {
	on, off, cron := true, false, "0 * * * *"
	shard := func(disabled *bool) fleet.Shard { return fleet.Shard{Overrides: &fleet.Overrides{Disabled: disabled}} }
	m := fleet.Member{Integration: "x", Shards: []fleet.Shard{{}, shard(nil), shard(&off), shard(&on)}}
	assert.Equal(t, 3, m.Workloads(), "a disabled shard has no replicas")
	m.Spec.Cron = &cron
	assert.Equal(t, 1, m.Workloads(), "a CronJob has no shards")
	assert.Equal(t, 0, fleet.Member{}.Workloads(), "a Service is not a workload")
}

// Each archive of testdata holds data, the values of each member, and the warnings and
// findings (FLEET.md D2, D3, C1, C3).
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			got := golden(t, archive)
			if *update {
				require.NoError(t, os.WriteFile(file, txtar.Format(got), 0o600))
				return
			}
			assert.Equal(t, string(txtar.Format(archive)), string(txtar.Format(got)), "go test ./domain/fleet -update, then read the difference")
		})
	}
}

// golden returns an archive with what the code makes of its data.
func golden(t *testing.T, archive *txtar.Archive) *txtar.Archive {
	t.Helper()
	s, err := fleet.Select(read(t, archive, data.Options{SpecFields: []string{"priority"}}), fleet.Filter{Cluster: "one"})
	require.NoError(t, err)
	got := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "want/") {
			got.Files = append(got.Files, f)
		}
	}
	var notes strings.Builder
	for _, h := range s.Held {
		for _, p := range h.Problems {
			notes.WriteString("held " + p.String() + "\n")
		}
	}
	for _, m := range s.Members {
		v, err := m.Values(map[string]any{"gov_slack": false})
		require.NoError(t, err)
		text, err := v.YAML()
		require.NoError(t, err)
		name := "want/" + m.Namespace.Name + "/" + m.Integration + ".yaml"
		got.Files = append(got.Files, txtar.File{Name: name, Data: text})
		for _, w := range m.Warnings {
			notes.WriteString("warning " + w.String() + "\n")
		}
	}
	for _, f := range fleet.Findings(s.Members) {
		notes.WriteString("finding " + f.String() + "\n")
	}
	got.Files = append(got.Files, txtar.File{Name: "want/notes", Data: []byte(notes.String())})
	return got
}
