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
		"TwiceThere":  {why: "which?", documents: append(change("", ""), definition), want: `CustomResourceDefinition caches.example.org is there twice in manifests/: remove one`},
		"Kind":        {why: "a workload beside the strategy", documents: append(change("", ""), "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"), want: "Pod a is of a kind"},
		"Deployments": {why: "no name", documents: change("deployments: [{name: cache, ", "deployments: [{name: '', "), want: `spec.install.spec.deployments[0].name "" is not a valid name of an object: write lower-case letters, digits, - and .`},
		"Uppercase":   {why: "no name", documents: change("deployments: [{name: cache, ", "deployments: [{name: Cache, "), want: `deployments[0].name "Cache" is not a valid name of an object`},
		"SameName":    {why: "which?", documents: change("deployments: [{", "deployments: [{name: cache, spec: {}}, {"), want: `deployments[1].name "cache" is there twice: rename one`},
		"WebhookName": {why: "no name", documents: change("generateName: m.example.org", "generateName: M_example"), want: `spec.webhookdefinitions[0].generateName "M_example" is not a valid name of an object`},
		"Deployment":  {why: "nobody answers", documents: change("deploymentName: cache", "deploymentName: cash"), want: `names deployment "cash"`},
		"Everything":  {why: "it would stop its own installation", documents: change("apiGroups: [example.org]", "apiGroups: ['*']"), want: `API group "*"`},
		"Itself":      {why: "it could not be removed", documents: change("apiGroups: [example.org]", "resources: [ValidatingWebhookConfigurations], apiGroups: [admissionregistration.k8s.io]"), want: `has a rule for ValidatingWebhookConfigurations of API group "admissionregistration.k8s.io", which would keep it from being removed: remove it`},
		"AllThere":    {why: "it could not be removed", documents: change("apiGroups: [example.org]", "resources: ['*'], apiGroups: [admissionregistration.k8s.io]"), want: "has a rule for * of API group"},
		"Type":        {why: "misspelt", documents: change("type: MutatingAdmissionWebhook", "type: Mutating"), want: `has type "Mutating"`},
		"Conversion":  {why: "not its own", documents: change("type: MutatingAdmissionWebhook", "conversionCRDs: [a.example.org], type: ConversionWebhook"), want: `converts "a.example.org", which the bundle does not own: add it to spec.customresourcedefinitions.owned`},
		"Partial":     {why: "definitions are the whole cluster's, whatever is watched now", documents: change("type: MutatingAdmissionWebhook", "type: ConversionWebhook"), want: "converts objects of the whole cluster, but the bundle also supports MultiNamespace: leave only AllNamespaces supported in spec.installModes"},
		"Converters":  {why: "which?", documents: onlyAll(change("  - {type: Mutating", converter+converter2+"  - {type: Mutating")), want: `spec.webhookdefinitions[1].conversionCRDs has "caches.example.org", which spec.webhookdefinitions[0] converts already: remove it from one`},
		"Preserved":   {why: "the API server converts nothing then", documents: onlyAll([]string{strings.Replace(version, "  - {type: Mutating", converter+"  - {type: Mutating", 1), definition + "spec: {preserveUnknownFields: true}\n"}), want: "CustomResourceDefinition caches.example.org has spec.preserveUnknownFields: true, with which nothing is converted: set it to false"},
		"Ports":       {why: "a Service has one target for a port", documents: change("  - {type: Mutating", "  - {type: ValidatingAdmissionWebhook, generateName: v.example.org, deploymentName: cache, targetPort: 9443}\n  - {type: Mutating"), want: `spec.webhookdefinitions[1] has target port 443 for port 443, and spec.webhookdefinitions[0] has 9443: use one target port, or two ports`},
		"OwnAndMore":  {why: "its own namespace is a mode of its own", documents: change("", ""), watch: []string{"operators", "shop"}, want: `cannot install cache.v1 for its own namespace "operators" among others: it supports AllNamespaces, MultiNamespace, and not OwnNamespace: leave out its own namespace`},
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

const (
	converter  = "  - {type: ConversionWebhook, generateName: c.example.org, deploymentName: cache, conversionCRDs: [caches.example.org]}\n"
	converter2 = "  - {type: ConversionWebhook, generateName: d.example.org, deploymentName: cache, conversionCRDs: [caches.example.org]}\n"
)

// onlyAll returns documents of a bundle that supports AllNamespaces alone.
func onlyAll(documents []string) []string {
	documents[0] = strings.Replace(documents[0], ", {type: MultiNamespace, supported: true}", "", 1)
	return documents
}

// CONTENT.md X8: no more is refused than a lifecycle manager refuses.
func TestConvertTakes(t *testing.T) {
	change := func(old, with string) []string { return []string{strings.Replace(version, old, with, 1), definition} }
	tests := map[string]struct {
		why       string
		documents []string
		watch     []string
	}{
		"NotOwned":   {why: "a definition that the version does not own is part of the bundle all the same", documents: append(change("", ""), strings.Replace(definition, "caches", "others", 1))},
		"Manager":    {why: "another program's group", documents: change("apiGroups: [example.org]", "apiGroups: [operators.coreos.com], resources: ['*']")},
		"Admission":  {why: "policies keep nothing from being removed", documents: change("apiGroups: [example.org]", "apiGroups: [admissionregistration.k8s.io], resources: [validatingadmissionpolicies]")},
		"SamePort":   {why: "two webhooks of one server", documents: change("  - {type: Mutating", "  - {type: ValidatingAdmissionWebhook, generateName: m.example.org, deploymentName: cache}\n  - {type: Mutating")},
		"OtherPort":  {why: "each deployment has a Service of its own", documents: change("  - {type: Mutating", "  - {type: ValidatingAdmissionWebhook, generateName: v.example.org, deploymentName: other, targetPort: 9443}\n  - {type: Mutating")},
		"Own":        {why: "a mode that it has", documents: change("{type: MultiNamespace, supported: true}", "{type: MultiNamespace, supported: true}, {type: OwnNamespace, supported: true}"), watch: []string{"operators", "shop"}},
		"NoWorkload": {why: "definitions alone", documents: []string{strings.Split(strings.Replace(version, "deployments: [{name: cache, spec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: c}]}}}}]", "deployments: []", 1), "  webhookdefinitions")[0], definition}},
		"Preserved":  {why: "nothing converts it", documents: []string{version, definition + "spec: {preserveUnknownFields: true}\n"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			if label == "OtherPort" {
				tc.documents[0] = strings.Replace(tc.documents[0], "deployments: [{", "deployments: [{name: other, spec: {}}, {", 1)
			}
			all, err := registryv1.Convert(objects(t, tc.documents...), registryv1.Options{Namespace: "operators", Watch: tc.watch})
			require.NoError(t, err, tc.why)
			assert.NotEmpty(t, all, tc.why)
		})
	}
}

// CONTENT.md X8: folders below manifests/ are refused.
func TestManifestsHaveNoFolders(t *testing.T) {
	var tree bundle.Tree
	for name, text := range map[string]string{"manifests/a.yaml": "", "manifests/crds/b.yaml": "", "metadata/annotations.yaml": "annotations:\n  operators.operatorframework.io.bundle.mediatype.v1: registry+v1\n  operators.operatorframework.io.bundle.package.v1: cache\n"} {
		require.NoError(t, tree.Add(name, bundle.File{Content: []byte(text)}))
	}
	_, err := registryv1.Manifests(&tree)
	require.EqualError(t, err, "cannot use the bundle: manifests/crds/b.yaml lies in a folder below manifests/, which a registry+v1 bundle may not have: move it to manifests/")
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
