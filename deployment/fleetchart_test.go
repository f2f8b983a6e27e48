package deployment_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/deployment"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/schema"
)

//nolint:gochecknoglobals // a flag
var update = flag.Bool("update", false, "write what the fleet chart renders into testdata, to be read")

// values is a values document of the fleet chart, or a part of one.
type values = map[string]any

// parse reads values.
func parse(t *testing.T, text string) values {
	t.Helper()
	var v values
	require.NoError(t, yaml.Unmarshal([]byte(text), &v), text)
	return v
}

// integration returns values with one integration, in one workload, that has fields besides its name.
func integration(fields values) values {
	item := values{
		"name": "dns-zones", "resources": values{"requests": values{"cpu": "10m", "memory": "16Mi"}, "limits": values{"memory": "32Mi"}},
		"shard_specs": []any{values{"shards": "1", "shard_id": "0", "shard_key": "", "shard_name_suffix": "", "extra_args": ""}},
	}
	maps.Copy(item, fields)
	return values{"excludeService": true, "integrations": []any{item}}
}

// cronjob returns values with one CronJob.
func cronjob(fields values) values {
	v := integration(values{"cron": "0 * * * *"})
	maps.Copy(v["integrations"].([]any)[0].(values), fields)
	return values{"excludeService": true, "cronjobs": v["integrations"]}
}

// renderFleet renders the chart that orcon embeds.
func renderFleet(t *testing.T, v values, parameters map[string]string) ([]bundle.Object, error) {
	t.Helper()
	tree, err := directory.Files(deployment.Manifests())
	require.NoError(t, err)
	text, err := yaml.Marshal(v)
	require.NoError(t, err)
	rendered, err := render.Render(t.Context(), tree, content.Options{
		Path: "fleet-chart", Name: "fleet", Namespace: "tools", Values: []content.ValuesFile{{Name: "values.yaml", Text: text}}, Parameters: parameters,
	})
	return rendered.Objects, err
}

// rendered renders values that must be right, to objects of Kubernetes without a field that it does not know.
func rendered(t *testing.T, v values) []bundle.Object {
	t.Helper()
	objects, err := renderFleet(t, v, nil)
	require.NoError(t, err)
	for _, o := range objects {
		strict(t, o)
	}
	return objects
}

// strict reads an object into its type.
func strict(t *testing.T, o bundle.Object) any {
	t.Helper()
	kinds := map[string]any{
		"Deployment": &appsv1.Deployment{}, "StatefulSet": &appsv1.StatefulSet{}, "CronJob": &batchv1.CronJob{}, "Service": &corev1.Service{},
	}
	text, err := o.Canonical()
	require.NoError(t, err)
	var head struct{ Kind string }
	require.NoError(t, json.Unmarshal(text, &head))
	require.Contains(t, kinds, head.Kind)
	require.NoError(t, yaml.UnmarshalStrict(text, kinds[head.Kind]), "%s", text)
	return kinds[head.Kind]
}

// golden compares a text with a file of an archive, or writes it there.
func golden(t *testing.T, archive *txtar.Archive, name, got string) {
	t.Helper()
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	require.GreaterOrEqual(t, i, 0, "%s is not in the archive", name)
	if *update {
		archive.Files[i].Data = []byte(got)
	}
	assert.Equal(t, string(archive.Files[i].Data), got, name)
}

// archive reads an archive of testdata; it is written again after the test with -update.
func archive(t *testing.T, name string) *txtar.Archive {
	t.Helper()
	path := filepath.Join("testdata", "fleet-chart", name)
	a, err := txtar.ParseFile(path)
	require.NoError(t, err)
	t.Cleanup(func() {
		if *update {
			assert.NoError(t, os.WriteFile(path, txtar.Format(a), 0o600))
		}
	})
	return a
}

// document returns objects as YAML.
func document(t *testing.T, objects []bundle.Object) string {
	t.Helper()
	var all strings.Builder
	for _, o := range objects {
		text, err := o.Canonical()
		require.NoError(t, err)
		text, err = yaml.JSONToYAML(text)
		require.NoError(t, err)
		all.WriteString("---\n" + string(text))
	}
	return all.String()
}

// Whole objects of each kind (FLEET.md C1).
func TestFleetChartObjects(t *testing.T) {
	a := archive(t, "objects.txtar")
	for _, f := range slices.Clone(a.Files) {
		if name, ok := strings.CutSuffix(f.Name, ".values"); ok {
			golden(t, a, name+".yaml", document(t, rendered(t, parse(t, string(f.Data)))))
		}
	}
}

// differences lists what differs in the objects of b, field by field.
func differences(t *testing.T, a, b []bundle.Object) string {
	t.Helper()
	before, err := bundle.Order(a)
	require.NoError(t, err)
	after, err := bundle.Order(b)
	require.NoError(t, err)
	var all strings.Builder
	for _, d := range bundle.Compare(before, after) {
		fmt.Fprintf(&all, "%s %s\n", d.ID, d.What)
		for _, c := range d.Changes {
			fmt.Fprintf(&all, "  %s: %s\n", c.Path, changed(c.Before, c.After))
		}
	}
	return all.String()
}

// changed returns how a value changed: of a script, the lines that it did not have before.
func changed(before, after string) string {
	var from, to string
	if json.Unmarshal([]byte(before), &from) != nil || json.Unmarshal([]byte(after), &to) != nil || !strings.Contains(to, "\n") {
		return before + " → " + after
	}
	had := map[string]int{}
	for line := range strings.Lines(from) {
		had[line]++
	}
	more := ""
	for line := range strings.Lines(to) {
		if had[line]--; had[line] < 0 {
			more += "\n    + " + strings.TrimSuffix(line, "\n")
		}
	}
	return more
}

// What each field of an item changes, beside an integration without it (FLEET.md C1, D2). No field of the schema
// is left out.
func TestFleetChartFields(t *testing.T) {
	a := archive(t, "fields.txtar")
	shown := map[string]bool{}
	for _, f := range slices.Clone(a.Files) {
		name, ok := strings.CutSuffix(f.Name, ".values")
		if !ok {
			continue
		}
		fields, of := parse(t, string(f.Data)), integration
		if strings.HasPrefix(name, "cronjob/") {
			of = cronjob
		}
		for field := range fields {
			shown[field] = true
		}
		golden(t, a, name+".changes", differences(t, rendered(t, of(nil)), rendered(t, of(fields))))
	}
	for _, field := range itemFields(t) {
		assert.True(t, shown[field], "field %s has no case in fields.txtar", field)
	}
}

// itemFields lists the fields of an item but for those that each has.
func itemFields(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("fleet-chart/values.schema.json")
	require.NoError(t, err)
	var schema struct {
		Defs struct {
			Item struct{ Properties map[string]any }
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	all := schema.Defs.Item.Properties
	for _, always := range []string{"name", "cron", "shard_specs"} {
		require.Contains(t, all, always)
		delete(all, always)
	}
	return slices.Sorted(maps.Keys(all))
}

// The workloads of each strategy, from the values that the data of domain/fleet/testdata mean (FLEET.md D3).
func TestFleetChartShards(t *testing.T) {
	a := archive(t, "shards.txtar")
	for _, name := range []string{"shards", "overrides"} {
		source, err := txtar.ParseFile("../domain/fleet/testdata/" + name + ".txtar")
		require.NoError(t, err)
		var all strings.Builder
		for _, f := range source.Files {
			if strings.HasPrefix(f.Name, "want/tools/") && f.Name != "want/tools/.yaml" {
				for _, o := range rendered(t, parse(t, string(f.Data))) {
					all.WriteString(described(t, o))
				}
			}
		}
		golden(t, a, name, all.String())
	}
}

// described returns a line about a Deployment and its shard.
func described(t *testing.T, o bundle.Object) string {
	t.Helper()
	d, ok := strict(t, o).(*appsv1.Deployment)
	require.True(t, ok)
	c := d.Spec.Template.Spec.Containers[0]
	line := fmt.Sprintf("%s replicas=%d image=%s", d.Name, *d.Spec.Replicas, c.Image)
	if memory := c.Resources.Limits.Memory(); !memory.IsZero() {
		line += " memory=" + memory.String()
	}
	for _, e := range c.Env {
		if slices.Contains([]string{"SHARDS", "SHARD_ID", "SHARD_KEY", "INTEGRATION_EXTRA_ARGS"}, e.Name) {
			line += fmt.Sprintf(" %s=%q", e.Name, e.Value)
		}
	}
	return line + "\n"
}

// The chart describes the fields of an item as the data do (FLEET.md P4), and no fewer.
func TestFleetChartSchemaIsThatOfTheData(t *testing.T) {
	type properties map[string]map[string]any
	read := func(text []byte, definition string) properties {
		var s struct {
			Defs map[string]struct{ Properties properties } `json:"$defs"`
		}
		require.NoError(t, json.Unmarshal(text, &s))
		return s.Defs[definition].Properties
	}
	text, err := os.ReadFile("fleet-chart/values.schema.json")
	require.NoError(t, err)
	item := read(text, "item")
	text, there := schema.Find("integration-1")
	require.True(t, there)
	spec := read(text, "spec")
	for _, ofData := range []string{"$schema", "sharding", "shards", "shardingStrategy", "shardSpecOverrides"} {
		require.Contains(t, spec, ofData)
		delete(spec, ofData)
	}
	for _, ofItems := range []string{"name", "shard_specs"} {
		require.Contains(t, item, ofItems)
		delete(item, ofItems)
	}
	assert.Equal(t, spec, item)
}
