package bundle_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// web is a Deployment with some fields below spec, as JSON.
func web(t require.TestingT, spec string) bundle.Object {
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(spec), &fields))
	return object("Deployment web", map[string]any{"spec": fields})
}

// BUNDLES.md 12: what is ignored is applied as it is, so that it is neither a difference
// nor put right.
func TestSettle(t *testing.T) {
	tests := map[string]struct {
		why              string
		path             string
		want, live, then string
	}{
		"Replicas":  {"an autoscaler has chosen", "spec.replicas", `{"replicas":3,"paused":true}`, `{"replicas":5}`, `{"replicas":5,"paused":true}`},
		"Dot":       {"as the API server writes it", ".spec.replicas", `{"replicas":3}`, `{"replicas":5}`, `{"replicas":5}`},
		"Gone":      {"somebody has taken it away", "spec.replicas", `{"replicas":3,"paused":true}`, `{}`, `{"paused":true}`},
		"NotOurs":   {"what others add stays theirs", "spec.replicas", `{"paused":true}`, `{"replicas":5}`, `{"paused":true}`},
		"Below":     {"what lies below is meant", "spec.strategy", `{"strategy":{"type":"a"}}`, `{"strategy":{"type":"b","max":1}}`, `{"strategy":{"type":"b","max":1}}`},
		"Prefix":    {"another name is another field", "spec.rep", `{"replicas":3}`, `{"replicas":5}`, `{"replicas":3}`},
		"Dots":      {"names may hold dots", "spec.notes.example.org/a", `{"notes":{"example.org/a":"1","example.org/b":"1"}}`, `{"notes":{"example.org/a":"2","example.org/b":"2"}}`, `{"notes":{"example.org/a":"2","example.org/b":"1"}}`},
		"Key":       {"an element by its key", `spec.containers[name="web"].image`, `{"containers":[{"name":"side","image":"1"},{"name":"web","image":"1"}]}`, `{"containers":[{"name":"web","image":"2"},{"name":"side","image":"2"}]}`, `{"containers":[{"name":"side","image":"1"},{"name":"web","image":"2"}]}`},
		"Keys":      {"by a key of two parts, of which one has its default", `spec.ports[containerPort=80,protocol="TCP"].name`, `{"ports":[{"containerPort":80,"name":"a"},{"containerPort":81,"name":"a"}]}`, `{"ports":[{"containerPort":80,"protocol":"TCP","name":"b"},{"containerPort":81,"protocol":"TCP","name":"b"}]}`, `{"ports":[{"containerPort":80,"name":"b"},{"containerPort":81,"name":"a"}]}`},
		"Every":     {"all elements, each by its name", `spec.containers[*].image`, `{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}`, `{"containers":[{"name":"injected","image":"9"},{"name":"b","image":"2"},{"name":"a","image":"3"}]}`, `{"containers":[{"name":"a","image":"3"},{"name":"b","image":"2"}]}`},
		"Index":     {"an element by its place", `spec.args[1]`, `{"args":["a","b"]}`, `{"args":["x","y"]}`, `{"args":["a","y"]}`},
		"Value":     {"an element of a set that is not there", `spec.groups[="a"]`, `{"groups":["a","b"]}`, `{"groups":["b"]}`, `{"groups":["b"]}`},
		"Element":   {"a whole element", `spec.containers[name="web"]`, `{"containers":[{"name":"web"}]}`, `{"containers":[{"name":"web","image":"2"}]}`, `{"containers":[{"name":"web","image":"2"}]}`},
		"Bracket":   {"a name with a bracket in quotes", `spec.containers[name="a]"].image`, `{"containers":[{"name":"a]","image":"1"}]}`, `{"containers":[{"name":"a]","image":"2"}]}`, `{"containers":[{"name":"a]","image":"2"}]}`},
		"OtherForm": {"what has another form has nothing there", `spec.strategy.type`, `{"strategy":{"type":"a"}}`, `{"strategy":"b"}`, `{"strategy":{}}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			wish, live := web(t, tc.want), web(t, tc.live)
			ignore := bundle.Ignore{APIVersion: "apps/v1", Kind: "Deployment", Paths: []string{tc.path}}
			require.NoError(t, ignore.Validate())
			assert.Equal(t, web(t, tc.then), bundle.Settle(wish, live, []bundle.Ignore{ignore}), tc.why)
			assert.Equal(t, web(t, tc.want), wish, "what its author wrote stays so")
		})
	}
}

// Rules are for their objects, and for none that is made anew.
func TestIgnoreFits(t *testing.T) {
	want, live := web(t, `{"replicas":3}`), web(t, `{"replicas":5}`)
	for ignore, settled := range map[*bundle.Ignore]bool{
		{APIVersion: "apps/v1", Kind: "Deployment"}:               true,
		{APIVersion: "apps/v2", Kind: "Deployment", Name: "web"}:  true,
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop"}: false,
		{APIVersion: "apps/v1", Kind: "StatefulSet"}:              false,
		{APIVersion: "v1", Kind: "Deployment"}:                    false,
	} {
		ignore.Paths = []string{"spec.replicas"}
		got := bundle.Settle(want, live, []bundle.Ignore{*ignore})
		assert.Equal(t, settled, got["spec"].(map[string]any)["replicas"] == 5.0, "%+v", *ignore)
	}
	assert.Equal(t, want, bundle.Settle(want, nil, []bundle.Ignore{{APIVersion: "apps/v1", Kind: "Deployment", Paths: []string{"spec.replicas"}}}), "it is made as its author wrote it")
}

func TestIgnoreValidate(t *testing.T) {
	tests := map[string]struct {
		in   bundle.Ignore
		want string
	}{
		"Kind":    {bundle.Ignore{Paths: []string{"spec"}}, "write apiVersion and kind"},
		"Paths":   {bundle.Ignore{APIVersion: "v1", Kind: "Pod"}, "cannot ignore nothing of Pod"},
		"Empty":   {bundle.Ignore{APIVersion: "v1", Kind: "Pod", Paths: []string{"."}}, "it names no field"},
		"Marks":   {bundle.Ignore{APIVersion: "v1", Kind: "Pod", Paths: []string{"metadata.annotations"}}, "the annotations of Orcon are among them"},
		"Open":    {bundle.Ignore{APIVersion: "v1", Kind: "Pod", Paths: []string{"spec.containers[name="}}, "an element of a list is written as"},
		"NoValue": {bundle.Ignore{APIVersion: "v1", Kind: "Pod", Paths: []string{"spec.containers[name]"}}, "an element of a list is written as"},
		"Plain":   {bundle.Ignore{APIVersion: "v1", Kind: "Pod", Paths: []string{"spec.containers[name=web]"}}, `cannot ignore path "spec.containers[name=web]" of Pod`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.ErrorContains(t, tc.in.Validate(), tc.want) })
	}
}

// What is settled differs from what is live in nothing that is ignored, and stays so.
func TestSettleOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields := func(label string) string {
			return rapid.SampledFrom([]string{`{}`, `{"a":1}`, `{"a":{"b":1}}`, `{"a":{"b":2,"c":1}}`, `{"a":[{"name":"x","v":1}]}`, `{"a":[{"name":"y","v":1},{"name":"x","v":2}]}`, `{"a":["x","y"]}`}).Draw(t, label)
		}
		ignores := []bundle.Ignore{{APIVersion: "apps/v1", Kind: "Deployment", Paths: rapid.SliceOfN(rapid.SampledFrom([]string{
			"spec.a", "spec.a.b", `spec.a[name="x"]`, `spec.a[*].v`, "spec.a[0]", `spec.a[="x"]`,
		}), 1, 3).Draw(t, "paths")}}
		want, live := web(t, fields("want")), web(t, fields("live"))
		settled := bundle.Settle(want, live, ignores)
		assert.Equal(t, live, bundle.Settle(live, live, ignores), "what is live is settled")
		if len(ignores[0].Paths) == 1 && ignores[0].Paths[0] != "spec.a[0]" {
			assert.Equal(t, settled, bundle.Settle(settled, live, ignores), "twice is once")
		}
	})
}

// Whatever path somebody writes is read, or refused; and never breaks an object.
func FuzzIgnore(f *testing.F) {
	for _, path := range []string{"spec.replicas", `spec.a[name="x"].v`, "spec.a[*]", "spec.a[0][1]", `spec.a[="\"]"]`, "[", "spec.a[=]"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		ignore := bundle.Ignore{APIVersion: "apps/v1", Kind: "Deployment", Paths: []string{path}}
		_ = ignore.Validate()
		o := web(t, `{"replicas":3,"a":[{"name":"x","v":1},["y"]]}`)
		assert.Equal(t, o, bundle.Settle(o, o, []bundle.Ignore{ignore}))
	})
}
