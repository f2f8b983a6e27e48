package main

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/deployment"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// release is a chart in which no default equals what the manifests say.
func release() options {
	return options{version: "1.2.3-rc.4", tag: "v1.2.3-rc.4", registry: "registry.example.org/team"}
}

// development is a chart whose defaults are what the manifests say.
func development() options {
	return options{version: "0.0.0-dev", tag: localTag, registry: localRegistry}
}

// generate returns the chart as content that can be rendered.
func generate(t *testing.T, o options) bundle.Tree {
	t.Helper()
	files, err := chart(t.Context(), o)
	require.NoError(t, err)
	var tree bundle.Tree
	for name, text := range files {
		require.NoError(t, tree.Add(name, bundle.File{Content: []byte(text)}))
	}
	return tree
}

// rendered returns what a chart renders to, by kind and name.
func rendered(t *testing.T, tree bundle.Tree, namespace string, set ...string) (map[string]string, error) {
	t.Helper()
	o := content.Options{Format: string(bundle.Helm), Name: "orcon", Namespace: namespace, Set: set}
	all, err := render.Render(t.Context(), tree, o)
	assert.Empty(t, all.Notes)
	return texts(t, all.Objects), err
}

func texts(t *testing.T, objects []bundle.Object) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range objects {
		text, err := o.Canonical()
		require.NoError(t, err)
		require.NotContains(t, all, o.ID().String())
		all[o.ID().String()] = string(text)
	}
	return all
}

// kustomized returns what the manifests of some variants render to, with changes of their
// texts as a user makes them.
func kustomized(t *testing.T, change *strings.Replacer, variants ...string) map[string]string {
	t.Helper()
	edited := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(deployment.Manifests(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(deployment.Manifests(), name)
		edited[name] = &fstest.MapFile{Data: []byte(change.Replace(string(text)))}
		return err
	}))
	all := map[string]string{}
	for _, name := range variants {
		source := content.Source{Reference: bundle.Reference{Origin: bundle.Builtin, Location: name}}
		tree, _, err := content.Fetcher{Builtin: edited}.Fetch(t.Context(), source)
		require.NoError(t, err)
		result, err := render.Render(t.Context(), tree, content.Options{Path: name})
		require.NoError(t, err)
		maps.Copy(all, texts(t, result.Objects))
	}
	return all
}

// kept is what the chart adds to definitions, so that helm uninstall leaves them.
const kept = `"helm.sh/resource-policy":"keep"`

// withoutKept returns what a manifest was before kept was added.
func withoutKept(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, ","+kept, ""), `"annotations":{`+kept+`},`, "")
}

// The chart renders to the objects of the kustomize manifests, all and none but these.
func TestChartIsTheManifests(t *testing.T) {
	same := strings.NewReplacer()
	// The folder keeps its name.
	released := strings.NewReplacer(
		"../orcon-system", "../orcon-system", "orcon-system", "elsewhere", "    newTag: dev", "    newTag: v1.2.3-rc.4",
	)
	tests := map[string]struct {
		why      string
		options  options
		in       string
		set      []string
		change   *strings.Replacer
		variants []string
	}{
		"SelfSigned":  {"the default", development(), "orcon-system", nil, same, []string{"selfsigned"}},
		"CertManager": {"the other variant", development(), "orcon-system", []string{"certificates=certmanager"}, same, []string{"certmanager"}},
		"AddOn": {
			"what is installed beside it", development(), "orcon-system",
			[]string{"bundleController.enabled=true"}, same, []string{"selfsigned", "bundle-controller"},
		},
		"Runs": {
			"another add-on", development(), "orcon-system",
			[]string{"jobController.enabled=true"}, same, []string{"selfsigned", "job-controller"},
		},
		"Policies": {
			"an add-on without a Deployment", development(), "orcon-system",
			[]string{"networkPolicies.enabled=true"}, same, []string{"selfsigned", "network-policies"},
		},
		"Release": {"a release's images, and another namespace", release(), "elsewhere", nil, released, []string{"selfsigned"}},
		"ReleaseCertManager": {
			"hosts in certificates have the namespace in them", release(), "elsewhere",
			[]string{"certificates=certmanager", "bundleController.enabled=true"}, released, []string{"certmanager", "bundle-controller"},
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got, err := rendered(t, generate(t, tc.options), tc.in, append(tc.set, "namespace.create=true")...)
			require.NoError(t, err)
			want := kustomized(t, tc.change, tc.variants...)
			assert.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)), tc.why)
			for id, text := range want {
				assert.JSONEq(t, strings.ReplaceAll(text, localRegistry, tc.options.registry), withoutKept(got[id]), "%s: %s", id, tc.why)
				lasting := strings.Contains(text, `"kind":"CustomResourceDefinition"`) || strings.Contains(text, `"kind":"PersistentVolumeClaim"`) ||
					strings.Contains(text, `"name":"orcon-leave"`)
				assert.Equal(t, lasting, strings.Contains(got[id], kept), "%s: helm uninstall ends no relation, and deletes no state", id)
			}
		})
	}
}

func TestValues(t *testing.T) {
	tests := map[string]struct {
		why  string
		set  []string
		want string
		not  string
	}{
		"Registry": {
			why: "one place for all images",
			set: []string{"registry=r.example.org/x/"}, want: `"r.example.org/x/relation-agent:v1.2.3-rc.4"`, not: "registry.example.org",
		},
		"Tag": {
			why: "one place for all tags",
			set: []string{"tag=v9"}, want: `"registry.example.org/team/relations-controller:v9"`, not: ":v1.2.3-rc.4",
		},
		"Image": {
			why: "one image alone, pinned",
			set: []string{"images.relation-agent=a.example.org/b@sha256:1"}, want: `"name":"ORCON_AGENT_IMAGE","value":"a.example.org/b@sha256:1"`, not: "team/relation-agent",
		},
		"Replicas": {why: "a number, not a text", set: []string{"relationsController.replicas=3"}, want: `"replicas":3`},
		"Resources": {
			why: "merged with the defaults",
			set: []string{"relationsController.resources.limits.memory=1Gi"}, want: `"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"50m","memory":"128Mi"}}`,
		},
		"PullSecrets": {why: "a private registry", set: []string{"imagePullSecrets[0].name=mine"}, want: `"imagePullSecrets":[{"name":"mine"}]`},
		"Nodes":       {why: "nodes of Orcon's own", set: []string{"nodeSelector.role=system"}, want: `"nodeSelector":{"role":"system"}`},
		"Config":      {why: "what is injected", set: []string{"configuration=agent: x"}, want: `"data":{"tenguconfig.yaml":"agent: x"}`},
		"Allow": {
			why: "a registry in the cluster",
			set: []string{"bundleController.enabled=true", "bundleController.allow={registry.shop.svc,10.0.0.0/8}"}, want: `"-allow=registry.shop.svc,10.0.0.0/8"`,
		},
		"NoCRDs": {
			why: "applied by an administrator",
			set: []string{"crds.enabled=false"}, want: `"kind":"Deployment"`, not: `"kind":"CustomResourceDefinition"`,
		},
		"Namespace": {why: "a namespace that YAML takes for a number; Helm creates it", want: `"namespace":"0123"`, not: `"kind":"Namespace"`},
	}
	tree := generate(t, release())
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			all, err := rendered(t, tree, "0123", tc.set...)
			require.NoError(t, err)
			text := strings.Join(slices.Collect(maps.Values(all)), "\n")
			assert.Regexp(t, regexp.QuoteMeta(tc.want), text, tc.why)
			if tc.not != "" {
				assert.NotRegexp(t, regexp.QuoteMeta(tc.not), text, tc.why)
			}
		})
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	tests := map[string]struct{ why, set, want string }{
		"Unknown":      {why: "a mistyped value must not be ignored", set: "replica=2", want: "replica"},
		"UnknownBelow": {why: "nor below", set: "bundleController.enable=true", want: "enable"},
		"Variant":      {why: "there are two", set: "certificates=letsencrypt", want: "certificates"},
		"Replicas":     {why: "a number", set: "relationsController.replicas=two", want: "replicas"},
	}
	tree := generate(t, release())
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := rendered(t, tree, "mine", tc.set)
			assert.ErrorContains(t, err, tc.want, tc.why)
		})
	}
}

// A manifest's own braces are no expressions, and a mark in it is not taken for one.
func TestTextOfManifestsIsNoTemplate(t *testing.T) {
	p := &places{images: map[string]bool{}, workloads: map[string]workload{}}
	annotations := map[string]any{"a": "{{ .Values.x }}"}
	object := bundle.Object{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "x", "annotations": annotations}}
	text, err := p.template(object)
	require.NoError(t, err)
	assert.Contains(t, text, `{{ "{{" }} .Values.x }}`)
	object["metadata"] = map[string]any{"name": mark}
	_, err = p.template(object)
	require.ErrorContains(t, err, "marks expressions")
}

// Equal sources give equal files.
func TestWritesTheSameTwice(t *testing.T) {
	var all [][]byte
	for range 2 {
		folder := t.TempDir()
		require.NoError(t, run(context.Background(), []string{"--version", "1.0.0-rc.1", folder}))
		var b bytes.Buffer
		require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(os.DirFS(folder), name)
			b.WriteString(name + "\n" + string(text))
			return err
		}))
		all = append(all, b.Bytes())
	}
	assert.Equal(t, string(all[0]), string(all[1]))
	require.Error(t, run(t.Context(), nil), "a folder must be named")
}
