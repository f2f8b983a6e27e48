package openshift_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/openshift"
)

// process returns the objects of a Template, as YAML.
func process(t *testing.T, text string, given map[string]string) (string, error) {
	t.Helper()
	template, err := openshift.Parse(fieldsOf(t, text))
	require.NoError(t, err)
	objects, err := template.Process(given)
	if err != nil {
		assert.Nil(t, objects, "an error comes alone")
		return "", err
	}
	written, err := yaml.Marshal(objects)
	require.NoError(t, err)
	return string(written), nil
}

// parameters are those that the objects of TestProcess refer to.
const parameters = `
parameters:
- {name: A, value: one}
- {name: B, value: "2"}
- {name: NONE}
- {name: AGAIN, value: "${A}"}
- {name: FLAG, value: "true"}
- {name: LARGE, value: "9007199254740993"}
- {name: HALF, value: "0.5"}
- {name: "NULL", value: "null"}
- {name: LIST, value: '[1, {"${A}": "${B}"}]'}
- {name: QUOTED, value: '"2"'}
- {name: BROKEN, value: '{"a": 1'}
- {name: TWO, value: '1 2'}
- {name: HUGE, value: '[{"a": 1e999}]'}
`

func TestProcess(t *testing.T) {
	tests := map[string]struct {
		why, object string
		given       map[string]string
		want        string
	}{
		"Inside":     {why: "several in one text", object: `{a: "${A}/${B}:${A}"}`, want: `{a: "one/2:one"}`},
		"Unknown":    {why: "a shell's variable stays", object: `{a: "${A} ${HOME} $A ${}"}`, want: `{a: "one ${HOME} $A ${}"}`},
		"Empty":      {why: "a parameter without a value is known", object: `{a: "<${NONE}>"}`, want: `{a: "<>"}`},
		"NoEscape":   {why: "a dollar before it is a dollar", object: `{a: "$${A} \\${A}"}`, want: `{a: "$one \\one"}`},
		"Nested":     {why: "only the inner one is a reference, and the result is not read again", object: `{a: "${${A}}", b: "${AGAIN}${A}"}`, want: `{a: "${one}", b: "${A}one"}`},
		"OddNames":   {why: "no reference has such names", object: `{a: "${A-B} ${ A } ${a}"}`, want: `{a: "${A-B} ${ A } ${a}"}`},
		"Key":        {why: "keys are texts too", object: `{"${A}": {"x-${B}": 1}}`, want: `{one: {x-2: 1}}`},
		"KeyAsValue": {why: "a key has no other type than text", object: `{"${{B}}": 1}`, want: `{"2": 1}`},
		"Deep":       {why: "lists, and maps in them", object: `{a: [["${A}", 7, {b: "${B}"}]]}`, want: `{a: [[one, 7, {b: "2"}]]}`},
		"Kept":       {why: "other values are as they were", object: `{a: 1, b: 1.5, c: true, d: null, e: [null]}`, want: `{a: 1, b: 1.5, c: true, d: null, e: [null]}`},
		"AsText":     {why: "a number inside of a text is text", object: `{a: "${B}"}`, want: `{a: "2"}`},
		"AsNumber":   {why: "the whole value", object: `{a: "${{B}}", b: ["${{HALF}}"]}`, want: `{a: 2, b: [0.5]}`},
		"AsLarge":    {why: "no digit is lost", object: `{a: "${{LARGE}}"}`, want: `{a: 9007199254740993}`},
		"AsBoolean":  {why: "the whole value", object: `{a: "${{FLAG}}"}`, want: `{a: true}`},
		"AsList":     {why: "JSON of any depth, which is not read again", object: `{a: "${{LIST}}"}`, want: `{a: [1, {"${A}": "${B}"}]}`},
		"AsQuoted":   {why: "JSON can be a text", object: `{a: "${{QUOTED}}"}`, want: `{a: "2"}`},
		"AsNull":     {why: "the field goes, an item stays", object: `{a: "${{NULL}}", b: ["${{NULL}}"]}`, want: `{b: [null]}`},
		"NoJSON":     {why: "what is not JSON is text", object: `{a: "${{A}}", b: "${{BROKEN}}", c: "${{NONE}}"}`, want: `{a: one, b: '{"a": 1', c: ""}`},
		"TwoValues":  {why: "two values are no JSON", object: `{a: "${{TWO}}"}`, want: `{a: "1 2"}`},
		"TooLarge":   {why: "a number that nothing holds is text", object: `{a: "${{HUGE}}"}`, want: `{a: '[{"a": 1e999}]'}`},
		"NotWhole":   {why: "beside other text it is no reference", object: `{a: "x${{B}}", b: "${{B}} ", c: "${{B}}\n"}`, want: `{a: "x${{B}}", b: "${{B}} ", c: "${{B}}\n"}`},
		"NotKnown":   {why: "nor is it without a parameter", object: `{a: "${{HOME}}"}`, want: `{a: "${{HOME}}"}`},
		"Given":      {why: "over the default", object: `{a: "${A}"}`, given: map[string]string{"A": "other"}, want: `{a: other}`},
		"GivenEmpty": {why: "an empty value is one", object: `{a: "<${A}>"}`, given: map[string]string{"A": ""}, want: `{a: "<>"}`},
		"GivenReference": {
			why: "a value is not read again", object: `{a: "${A}${B}"}`, given: map[string]string{"A": "${B}"}, want: `{a: "${B}2"}`,
		},
		"Kind":      {why: "each field may refer to one", object: `{apiVersion: "v${B}", kind: "${A}"}`, want: `{apiVersion: v2, kind: one}`},
		"Namespace": {why: "the installation decides it", object: `{metadata: {name: x, namespace: prod}}`, want: `{metadata: {name: x}}`},
		"NamespaceByParameter": {
			why: "the author lets it be chosen", object: `{metadata: {namespace: "${A}-x"}}`, want: `{metadata: {namespace: one-x}}`,
		},
		"NamespaceByUnknown": {why: "it stays as it is", object: `{metadata: {namespace: "${N}"}}`, want: `{metadata: {namespace: "${N}"}}`},
		"NamespaceByValue":   {why: "only ${NAME} is left", object: `{metadata: {namespace: "${{A}}"}}`, want: `{metadata: {}}`},
		"NamespaceNumber":    {why: "no namespace", object: `{metadata: {namespace: 1}}`, want: `{metadata: {}}`},
		"NamespaceElsewhere": {
			why:    "subjects and references keep theirs",
			object: `{subjects: [{namespace: prod}], spec: {metadata: {namespace: prod}}}`, want: `{subjects: [{namespace: prod}], spec: {metadata: {namespace: prod}}}`,
		},
		"NoList":      {why: "a kind that has items, and one that is called so", object: `{kind: Menu, items: [x], a: {kind: AList}}`, want: `{kind: Menu, items: [x], a: {kind: AList}}`},
		"MetadataOdd": {why: "another check reports it", object: `{metadata: [x]}`, want: `{metadata: [x]}`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got, err := process(t, parameters+"objects:\n- "+tc.object, tc.given)
			require.NoError(t, err, tc.why)
			assert.YAMLEq(t, "["+tc.want+"]", got, tc.why)
		})
	}
}

func TestProcessLabels(t *testing.T) {
	tests := map[string]struct{ why, labels, object, want string }{
		"Added":    {why: "beside those of the object", labels: "{a: x}", object: "{metadata: {labels: {b: z}}}", want: "{metadata: {labels: {a: x, b: z}}}"},
		"Over":     {why: "those of the Template count", labels: "{a: x}", object: "{metadata: {labels: {a: z}}}", want: "{metadata: {labels: {a: x}}}"},
		"First":    {why: "an object without labels", labels: "{a: x}", object: "{metadata: {name: web}}", want: "{metadata: {name: web, labels: {a: x}}}"},
		"Bare":     {why: "an object without metadata", labels: "{a: x}", object: "{kind: A}", want: "{kind: A, metadata: {labels: {a: x}}}"},
		"Referred": {why: "names and values refer to parameters", labels: `{"${A}": "${B}", c: "${{B}}"}`, object: "{}", want: `{metadata: {labels: {one: "2", c: "2"}}}`},
		"None":     {why: "nothing to add", labels: "{}", object: "{kind: A}", want: "{kind: A}"},
		"Shallow":  {why: "pods keep theirs, which selectors know", labels: "{a: x}", object: "{spec: {template: {metadata: {labels: {b: z}}}}}", want: "{metadata: {labels: {a: x}}, spec: {template: {metadata: {labels: {b: z}}}}}"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got, err := process(t, parameters+"labels: "+tc.labels+"\nobjects:\n- "+tc.object, nil)
			require.NoError(t, err, tc.why)
			assert.YAMLEq(t, "["+tc.want+"]", got, tc.why)
		})
	}
}

func TestProcessErrors(t *testing.T) {
	const declared = `
parameters:
- {name: IMAGE, required: true}
- {name: IMAGE_TAG, required: true}
- {name: PASSWORD, generate: expression, from: "[a-z]{8}"}
- {name: TOKEN, generate: expression, from: "[a-z]{8}", required: true}
- {name: REPLICAS, value: "1"}
`
	all := map[string]string{"IMAGE": "web", "IMAGE_TAG": "1", "PASSWORD": "", "TOKEN": "x"}
	tests := map[string]struct {
		why, objects string
		without      []string
		with         map[string]string
		want         []string
	}{
		"Right": {why: "a value that is given empty is not generated"},
		"Required": {
			why: "all are listed at once", without: []string{"IMAGE", "IMAGE_TAG"},
			want: []string{"a value is required for parameters IMAGE, IMAGE_TAG: give each one: --parameter NAME=VALUE, or spec.render.parameters"},
		},
		"RequiredEmpty": {
			why: "an empty value is none", with: map[string]string{"IMAGE": ""}, want: []string{"a value is required for parameter IMAGE: give it one"},
		},
		"Generated": {
			why: "two renderings would differ", without: []string{"PASSWORD"},
			want: []string{"a value is not generated, because it would differ each time, for parameter PASSWORD: give it one: --parameter NAME=VALUE, or spec.render.parameters"},
		},
		"GeneratedRequired": {why: "it is named once", without: []string{"TOKEN"}, want: []string{"a value is required for parameter TOKEN: give it one"}},
		"Unknown":           {why: "a misspelt name would have no effect", with: map[string]string{"IMAGETAG": "2"}, want: []string{"parameter IMAGETAG is unknown: use IMAGE_TAG"}},
		"UnknownFar": {
			why: "the names that there are", with: map[string]string{"COLOUR": "red"},
			want: []string{"parameter COLOUR is unknown: remove it, or use one of IMAGE, IMAGE_TAG, PASSWORD, TOKEN, REPLICAS"},
		},
		"AllAtOnce": {
			why: "one run shows all", without: []string{"IMAGE", "PASSWORD"}, with: map[string]string{"ANOTHER": "", "UNRELATED": ""},
			want: []string{"parameter IMAGE:", "parameter PASSWORD:", "ANOTHER", "UNRELATED"},
		},
		"Collision": {
			why: "one of the two would be lost", objects: `objects: [{a: [{data: {"${REPLICAS}": x, "1": z}}]}]`,
			want: []string{`objects[0].a[0].data has key "1" twice`},
		},
		"List": {
			why: "its items would keep their namespaces and lack the labels", objects: `objects: [{}, {kind: ConfigMapList, items: []}]`,
			want: []string{"objects[1] is a ConfigMapList: write its items as objects of the Template"},
		},
		"CollisionOfLabels": {why: "one of the two would be lost", objects: `labels: {"${REPLICAS}": x, "1": z}`, want: []string{`labels has key "1" twice`}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			given := maps.Clone(all)
			for _, name := range tc.without {
				delete(given, name)
			}
			maps.Copy(given, tc.with)
			_, err := process(t, declared+tc.objects, given)
			if tc.want == nil {
				require.NoError(t, err, tc.why)
				return
			}
			for _, want := range tc.want {
				require.ErrorContains(t, err, want, tc.why)
			}
		})
	}
	_, err := process(t, "objects: []", map[string]string{"A": "x"})
	assert.ErrorContains(t, err, "parameter A is unknown: remove it, the Template has no parameters")
}
