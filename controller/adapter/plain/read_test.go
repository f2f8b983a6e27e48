package plain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/plain"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func treeOf(t require.TestingT, files map[string]string) *bundle.Tree {
	var tree bundle.Tree
	for name, content := range files {
		require.NoError(t, tree.Add(name, bundle.File{Content: []byte(content)}))
	}
	return &tree
}

const (
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	service   = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: shop}\nspec:\n  ports:\n  - port: 80\n"
)

// CONTENT.md X4, among others: what kubectl reads is read, typed lists too.
func TestRead(t *testing.T) {
	tests := map[string]struct {
		why   string
		files map[string]string
		want  string
	}{
		"One":        {why: "an object", files: map[string]string{"a.yaml": configMap}, want: "ConfigMap a"},
		"Documents":  {why: "several in a file, in its order", files: map[string]string{"a.yml": "---\n" + service + "--- # next\n" + configMap + "---\n# nothing\n---\n"}, want: "Service shop/a, ConfigMap a"},
		"Folders":    {why: "recursive, in the order of paths", files: map[string]string{"b/a.yaml": configMap, "a/b/c.yaml": service}, want: "Service shop/a, ConfigMap a"},
		"JSON":       {why: "values that follow each other", files: map[string]string{"a.json": `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}} {"apiVersion":"v1","kind":"Secret","metadata":{"name":"t"}}`}, want: "Secret s, Secret t"},
		"List":       {why: "what kubectl get prints", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n- {apiVersion: v1, kind: Secret, metadata: {name: t}}\n"}, want: "Secret s, Secret t"},
		"Typed":      {why: "its items need not repeat their kind", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMapList\nmetadata: {resourceVersion: '1'}\nitems:\n- metadata: {name: a}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"}, want: "ConfigMap a, ConfigMap b"},
		"TypedGroup": {why: "of any group", files: map[string]string{"a.json": `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleList","items":[{"metadata":{"name":"r"}}]}`}, want: "Role r"},
		"EmptyList":  {why: "nothing in it", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: SecretList\nitems: null\n---\napiVersion: v1\nkind: List\nitems: []\n"}},
		"NoList":     {why: "an object whose kind sounds like one, as its name shows", files: map[string]string{"a.yaml": "apiVersion: example.org/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [10.0.0.1]\n"}, want: "AllowList.example.org a"},
		"Others":     {why: "no manifests", files: map[string]string{"README.md": "---", ".github/ci.yaml": "x: [", "a.yaml": configMap}, want: "ConfigMap a"},
		"Separators": {why: "those in a text are none", files: map[string]string{"a.yaml": configMap + "data:\n  x: |\n    ---\n    a\n  y: ---x\n"}, want: "ConfigMap a"},
		"Ends":       {why: "what follows the end of a document is one too, unlike kubectl, which drops it", files: map[string]string{"a.yaml": configMap + "...\n# next\n...\n" + service + "... # end\n---\n" + strings.Replace(configMap, "a}", "b}", 1) + "...\n%YAML 1.2\n"}, want: "ConfigMap a, Service shop/a, ConfigMap b"},
		"Texts":      {why: "ends in a text are none", files: map[string]string{"a.yaml": configMap + "data:\n  x: |\n    ...\n    a\n  y: ...x\n"}, want: "ConfigMap a"},
		"Windows":    {why: "a mark at the beginning, and other line ends", files: map[string]string{"a.yaml": "\xef\xbb\xbf" + strings.ReplaceAll(configMap+"---\n"+service, "\n", "\r\n")}, want: "ConfigMap a, Service shop/a"},
		"Namespaces": {why: "two objects", files: map[string]string{"a.yaml": service + "---\n" + strings.Replace(service, "shop", "office", 1)}, want: "Service shop/a, Service office/a"},
		"Nothing":    {why: "whether that is wrong, another decides", files: map[string]string{"a.yaml": "# nothing\n"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			objects, err := plain.Read(treeOf(t, tc.files))
			require.NoError(t, err, tc.why)
			var names []string
			for _, o := range objects {
				names = append(names, o.ID().String())
			}
			assert.Equal(t, tc.want, strings.Join(names, ", "), tc.why)
		})
	}
}

// Values are what kubectl reads: whole numbers stay whole.
func TestReadValues(t *testing.T) {
	objects, err := plain.Read(treeOf(t, map[string]string{"a.yaml": configMap + "x: {i: 9007199254740993, f: 1.5, b: yes, nothing: null, s: '1'}\n"}))
	require.NoError(t, err)
	require.Len(t, objects, 1)
	assert.Equal(t, map[string]any{"i": int64(9007199254740993), "f": 1.5, "b": true, "nothing": nil, "s": "1"}, objects[0]["x"])
}

// BUNDLES.md, invariant 1: what is wrong is refused, with file, document, line, reason
// and cure.
func TestReadRefuses(t *testing.T) {
	tests := map[string]struct {
		why, text string
		file      string
		want      []string
	}{
		"Syntax":       {why: "the line is the file's", text: configMap + "---\n" + service + "  bad: [\n", want: []string{"a.yaml, document 2 (line 4)", "line 1", "write a Kubernetes object"}},
		"Ended":        {why: "documents are counted as they are written", text: configMap + "...\n---\n" + service + "...\n\nhello\n", want: []string{"a.yaml, document 3 (line 14)"}},
		"Key":          {why: "which of the two counts?", text: configMap + "kind: Secret\n", want: []string{`"kind" already set`}},
		"Scalar":       {why: "no object", text: "hello\n", want: []string{"it is not a Kubernetes object"}},
		"NoVersion":    {why: "no manifest", text: "kind: Secret\n", want: []string{"apiVersion is missing"}},
		"NoKind":       {why: "no manifest", text: "apiVersion: v1\n", want: []string{"kind is missing"}},
		"NoName":       {why: "cannot be found again", text: "apiVersion: v1\nkind: Secret\n", want: []string{"Secret has no metadata.name"}},
		"GenerateName": {why: "cannot be found again", text: "apiVersion: v1\nkind: Secret\nmetadata: {generateName: a-}\n", want: []string{"metadata.generateName"}},
		"Kustomize":    {why: "another format", text: "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", want: []string{"format kustomize"}},
		"Twice":        {why: "which of the two counts?", text: configMap + "---\n" + configMap, want: []string{"document 2", "ConfigMap a is defined twice, first in a.yaml, document 1 (line 1)"}},
		"ListItem":     {why: "a list of everything tells no kind", text: "apiVersion: v1\nkind: List\nitems: [{metadata: {name: a}}]\n", want: []string{"apiVersion is missing"}},
		"Item":         {why: "no object in a list", text: "kind: List\nitems: [1]\n", want: []string{"items[0] is not a Kubernetes object"}},
		"JSON":         {why: "the document that is cut off", file: "a.json", text: "{\"kind\":1}\n\n{", want: []string{"a.json, document 2 (line 3)"}},
		"AllAtOnce":    {why: "one run tells all", text: "a: 1\n---\n" + configMap + "---\nkind: x\n", want: []string{"document 1", "document 3"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			file := tc.file
			if file == "" {
				file = "a.yaml"
			}
			objects, err := plain.Read(treeOf(t, map[string]string{file: tc.text}))
			assert.Nil(t, objects, tc.why)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want, tc.why)
			}
		})
	}
}

// FuzzRead takes any text: it is refused, or each object has a name of its own and is
// read again from what is written of it.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{configMap, service + "---\n" + configMap, "kind: List\nitems: []", "a: &a [*a]", "--- {}\n---", "\xef\xbb\xbf---"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		objects, err := plain.Read(treeOf(t, map[string]string{"a.yaml": text}))
		if err != nil {
			require.Nil(t, objects)
			return
		}
		var written strings.Builder
		for _, o := range objects {
			line, err := o.Canonical()
			require.NoError(t, err)
			written.Write(line)
		}
		again, err := plain.Read(treeOf(t, map[string]string{"a.json": written.String()}))
		require.NoError(t, err)
		require.Equal(t, objects, again)
	})
}
