package deployment_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/directory"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// example reads the data of an example.
func example(t *testing.T, folder string) data.Data {
	t.Helper()
	tree, err := directory.Files(os.DirFS(folder))
	require.NoError(t, err)
	return data.Read(tree.Contents(), data.Options{})
}

// FLEET.md P5: the large example has every strategy and every shape that data have had, and nothing wrong in it.
func TestLargeExample(t *testing.T) {
	d := example(t, "examples/fleet/large/data")
	assert.Len(t, d.Integrations, 60)
	type count struct {
		members, cronjobs, workloads int
		strategies                   map[data.Strategy]int
	}
	tests := map[string]count{
		"stage":      {members: 26, workloads: 30, strategies: map[data.Strategy]int{data.Static: 25, data.PerCluster: 1}},
		"production": {60, 9, 109, map[data.Strategy]int{data.Static: 47, data.PerAccount: 4, data.PerCluster: 5, data.PerOrganisation: 4}},
		"government": {members: 7, workloads: 17, strategies: map[data.Strategy]int{data.Static: 4, data.PerAccount: 1, data.PerCluster: 1, data.PerOrganisation: 1}},
	}
	clusters := map[string]string{"stage": "hub-stage", "production": "hub-production", "government": "hub-government"}
	for environment, want := range tests {
		s, err := fleet.Select(d, fleet.Filter{Cluster: clusters[environment], Environments: []string{environment}})
		require.NoError(t, err)
		assert.Empty(t, s.Problems(d), environment)
		assert.Empty(t, fleet.Findings(s.Members), environment)
		got := count{strategies: map[data.Strategy]int{}}
		for _, m := range s.Members {
			assert.Empty(t, m.Warnings, m.Location)
			if m.Integration == "" {
				continue
			}
			got.members++
			got.workloads += m.Workloads()
			if m.CronJob() {
				got.cronjobs++
			}
		}
		for _, i := range d.Integrations {
			for _, e := range i.Entries {
				if e.Namespace.Environment.Name == environment {
					got.strategies[e.Sharding.Strategy]++
				}
			}
		}
		assert.Equal(t, want, got, environment)
	}
	_, err := fleet.Select(d, fleet.Filter{})
	require.ErrorIs(t, err, fleet.ErrClusters, "a cluster must be chosen")
	s, err := fleet.Select(d, fleet.Filter{Cluster: "hub-stage"})
	require.NoError(t, err)
	assert.Equal(t, 67, s.Elsewhere, "entries of the other two clusters")
}

// The sets of the examples name environments and clusters of their data.
func TestExampleSets(t *testing.T) {
	for _, folder := range []string{"examples/fleet", "examples/fleet/large"} {
		text, err := os.ReadFile(folder + "/integrationset.yaml")
		require.NoError(t, err)
		var set v1alpha1.IntegrationSet
		require.NoError(t, yaml.UnmarshalStrict(text, &set), folder)
		s, err := fleet.Select(example(t, folder+"/data"), fleet.Filter{Cluster: set.Spec.Cluster, Environments: set.Spec.Environments})
		require.NoError(t, err)
		assert.NotEmpty(t, s.Members, folder)
		named := map[string]bool{}
		for _, m := range s.Members {
			named[m.Integration] = true
		}
		for _, w := range set.Spec.Waves {
			for _, name := range w.Integrations {
				assert.True(t, named[name], "%s: wave of %s, which the set does not have", folder, name)
			}
		}
	}
}
