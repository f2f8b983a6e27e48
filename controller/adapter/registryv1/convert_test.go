package registryv1_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/registryv1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const (
	version = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: cache.v1}
spec:
  installModes: [{type: AllNamespaces, supported: true}, {type: MultiNamespace, supported: true}]
  customresourcedefinitions: {owned: [{name: caches.example.org}]}
  install:
    strategy: deployment
    spec:
      deployments: [{name: cache, spec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: c}]}}}}]
      permissions: [{serviceAccountName: cache, rules: []}]
  webhookdefinitions:
  - {type: MutatingAdmissionWebhook, generateName: m.example.org, deploymentName: cache, rules: [{apiGroups: [example.org]}]}
`
	definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: caches.example.org}\n"
)

// objects reads documents.
func objects(t *testing.T, documents ...string) []bundle.Object {
	t.Helper()
	var all []bundle.Object
	for _, text := range documents {
		var o bundle.Object
		require.NoError(t, yaml.Unmarshal([]byte(text), &o))
		all = append(all, o)
	}
	return all
}

func TestConvert(t *testing.T) {
	all, err := registryv1.Convert(objects(t, version, definition), registryv1.Options{Namespace: "operators", Watch: []string{"shop", "office", "shop"}})
	require.NoError(t, err)
	var names []string
	for _, o := range all {
		names = append(names, strings.Split(o.ID().String(), "-")[0])
		for key, value := range o {
			assert.NotNil(t, value, key)
		}
		if o.ID().Kind == "MutatingWebhookConfiguration" {
			text, err := o.Canonical()
			require.NoError(t, err)
			assert.Contains(t, string(text), `"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In","values":["office","shop"]}]}`)
		}
	}
	assert.Equal(t, []string{
		"ServiceAccount operators/cache", "Role office/cache.v1", "Role shop/cache.v1",
		"RoleBinding office/cache.v1", "RoleBinding shop/cache.v1",
		"CustomResourceDefinition caches.example.org", "Issuer.cert", "Certificate.cert", "Service operators/cache",
		"Deployment operators/cache", "MutatingWebhookConfiguration operators",
	}, names)
}

// What is given stays as it is, and the same names come of it in no two namespaces.
func TestConvertTwice(t *testing.T) {
	in := objects(t, version, definition)
	before, err := in[0].Canonical()
	require.NoError(t, err)
	one, err := registryv1.Convert(in, registryv1.Options{Namespace: "a"})
	require.NoError(t, err)
	other, err := registryv1.Convert(in, registryv1.Options{Namespace: "b"})
	require.NoError(t, err)
	after, err := in[0].Canonical()
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
	names := map[bundle.ID]bool{}
	for _, o := range append(one, other...) {
		if o.ID().Kind != "CustomResourceDefinition" {
			assert.False(t, names[o.ID()], "%s", o.ID())
			names[o.ID()] = true
		}
	}
}

// BUNDLES.md, registry+v1: what is against a rule is refused by its name.
func TestConvertRefuses(t *testing.T) {
	change := func(old, with string) []string { return []string{strings.Replace(version, old, with, 1), definition} }
	tests := map[string]struct {
		why       string
		documents []string
		watch     []string
		want      string
	}{
		"NoVersion":   {why: "nothing to install", documents: []string{definition}, want: "has 0 ClusterServiceVersions"},
		"TwoVersions": {why: "which?", documents: []string{version, version, definition}, want: "has 2 ClusterServiceVersions"},
		"Strategy":    {why: "another way to install", documents: change("strategy: deployment", "strategy: image"), want: `"image" is not deployment`},
		"APIService":  {why: "not converted", documents: change("  customres", "  apiservicedefinitions: {owned: [{name: a}]}\n  customres"), want: "apiservicedefinitions"},
		"Mode":        {why: "one namespace alone", documents: change("", ""), watch: []string{"shop"}, want: "mode SingleNamespace: it supports AllNamespaces, MultiNamespace: choose"},
		"Missing":     {why: "a definition that is not there", documents: []string{version}, want: `owns CustomResourceDefinition "caches.example.org"`},
		"NotOwned":    {why: "a definition that nobody owns", documents: append(change("", ""), strings.Replace(definition, "caches", "others", 1)), want: "others.example.org, and its ClusterServiceVersion does not own it"},
		"Kind":        {why: "a workload beside the strategy", documents: append(change("", ""), "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"), want: "Pod a is of a kind"},
		"Deployments": {why: "nothing runs", documents: change("deployments: [{name: cache, ", "deployments: [{name: '', "), want: `deployment name ""`},
		"Deployment":  {why: "nobody answers", documents: change("deploymentName: cache", "deploymentName: cash"), want: `names deployment "cash"`},
		"Everything":  {why: "it would stop its own installation", documents: change("apiGroups: [example.org]", "apiGroups: ['*']"), want: `API group "*"`},
		"Itself":      {why: "it could not be removed", documents: change("apiGroups: [example.org]", "apiGroups: [admissionregistration.k8s.io]"), want: "would keep it from being removed"},
		"Type":        {why: "misspelt", documents: change("type: MutatingAdmissionWebhook", "type: Mutating"), want: `has type "Mutating"`},
		"Conversion":  {why: "not its own", documents: change("type: MutatingAdmissionWebhook", "conversionCRDs: [a.example.org], type: ConversionWebhook"), want: `converts "a.example.org"`},
		"Partial":     {why: "definitions are the whole cluster's", documents: change("type: MutatingAdmissionWebhook", "type: ConversionWebhook"), watch: []string{"a", "b"}, want: "needs mode AllNamespaces"},
		"NoSpec":      {why: "no pod", documents: change("deployments: [{", "deployments: [{name: x}, {"), want: `deployment "x" has no spec`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			all, err := registryv1.Convert(objects(t, tc.documents...), registryv1.Options{Namespace: "operators", Watch: tc.watch})
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.Nil(t, all, tc.why)
		})
	}
}

func TestManifests(t *testing.T) {
	const good = "annotations:\n  operators.operatorframework.io.bundle.mediatype.v1: registry+v1\n  operators.operatorframework.io.bundle.package.v1: cache\n"
	tests := map[string]struct {
		why   string
		files map[string]string
		want  string
	}{
		"Good":       {why: "all is there", files: map[string]string{"metadata/annotations.yaml": good, "metadata/dependencies.yaml": "dependencies: []\n"}},
		"NoMetadata": {why: "half a bundle", want: "cannot find metadata/annotations.yaml"},
		"Type":       {why: "another format", files: map[string]string{"metadata/annotations.yaml": strings.Replace(good, "registry+v1", "helm", 1)}, want: `"helm", not registry+v1`},
		"Package":    {why: "no name", files: map[string]string{"metadata/annotations.yaml": strings.Replace(good, "package.v1: cache", "package.v1: ''", 1)}, want: "package.v1"},
		"YAML":       {why: "no YAML", files: map[string]string{"metadata/annotations.yaml": "a: ["}, want: "cannot read metadata/annotations.yaml"},
		"Dependency": {why: "nothing resolves it", files: map[string]string{"metadata/annotations.yaml": good, "metadata/dependencies.yaml": "dependencies: [{type: olm.package, value: {packageName: db}}]\n"}, want: `type "olm.package"`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var tree bundle.Tree
			require.NoError(t, tree.Add("manifests/a.yaml", bundle.File{}))
			for name, content := range tc.files {
				require.NoError(t, tree.Add(name, bundle.File{Content: []byte(content)}))
			}
			manifests, err := registryv1.Manifests(&tree)
			if tc.want != "" {
				require.ErrorContains(t, err, tc.want, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			assert.Equal(t, []string{"a.yaml"}, manifests.Paths(), tc.why)
		})
	}
}
