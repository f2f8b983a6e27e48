package main

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
)

// That nothing is owed is said of a namespace that exists, by its name; and only an end that is not there is looked up by
// the list.
func TestEnds(t *testing.T) {
	const sides = group + "namespaces/shop/relationsides"
	tests := map[string]struct {
		why     string
		args    []string
		answers map[string]string
		code    int
		errs    string
	}{
		"None": {"a person may have forgotten -n", nil, map[string]string{
			sides: listOf("RelationSide", ""), "/api/v1/namespaces/shop": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop"}}`,
		}, 0, "no end is owed or held in namespace shop (orcon ends -A shows every namespace)"},
		"NoNamespace": {"a typo in its name", nil, map[string]string{sides: listOf("RelationSide", "")}, exitMisuse,
			"there is no namespace shop: use -A"},
		"Everywhere": {"there is no other place", []string{"-A"}, map[string]string{group + "relationsides": listOf("RelationSide", "")}, 0,
			"no end is owed or held\n"},
		"NotFound": {"the list has the names", []string{"waive", "x"}, nil, exitMisuse, "orcon ends -n shop lists the ends"},
		"Forbidden": {"the list would not help", []string{"waive", "x"}, map[string]string{sides + "/x": ""}, exitMisuse,
			"cannot waive the end of relation side x: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"/apis/orcon.tengu.io/v1alpha1": `{"kind":"APIResourceList","groupVersion":"orcon.tengu.io/v1alpha1",
				"resources":[{"name":"relationsides","kind":"RelationSide","namespaced":true}]}`}
			maps.Copy(all, test.answers)
			code, _, errs := call("", append(append([]string{"ends"}, test.args...), answering(t, all)...)...)
			assert.Equal(t, test.code, code, test.why)
			assert.Contains(t, errs, test.errs, test.why)
			if name == "Forbidden" {
				assert.NotContains(t, errs, "lists the ends", test.why)
			}
		})
	}
}

// Handlers go on while a person decides: an end that is over meanwhile, or one that cannot be changed, does not keep the
// decision from the others.
func TestEndsDecidesAboutTheRest(t *testing.T) {
	const sides = group + "namespaces/shop/relationsides"
	side := func(name string) string {
		return `{"apiVersion":"orcon.tengu.io/v1alpha1","kind":"RelationSide","metadata":{"namespace":"shop","name":"` + name + `"},` +
			`"spec":{"role":"Provider"},"state":{"end":{"time":"2026-01-02T03:04:05Z","state":"Held"}}}`
	}
	all := map[string]string{
		"/apis/orcon.tengu.io/v1alpha1": `{"kind":"APIResourceList","groupVersion":"orcon.tengu.io/v1alpha1",
			"resources":[{"name":"relationsides","kind":"RelationSide","namespaced":true}]}`,
		sides:        listOf("RelationSide", side("a")+","+side("b")+","+side("c")),
		sides + "/c": side("c"),
	}
	code, out, errs := call("", append([]string{"ends", "confirm", "--all"}, answering(t, all)...)...)
	assert.Zero(t, code, errs)
	assert.Equal(t, "a: its end is over already\nb: its end is over already\nc: handlers run for its end\n", out)

	all[sides+"/b"] = "" // forbidden
	code, out, errs = call("", append([]string{"ends", "confirm", "--all"}, answering(t, all)...)...)
	assert.Equal(t, exitMisuse, code)
	assert.Equal(t, "a: its end is over already\nc: handlers run for its end\n", out)
	assert.Contains(t, errs, "cannot confirm the end of relation side b: ")
}

// Shells complete the names of ends that a person may decide about, each once, and no names of files.
func TestEndsCompletes(t *testing.T) {
	side := func(name, role string) string {
		return `{"metadata":{"namespace":"shop","name":"` + name + `"},"spec":{"role":"` + role + `"},"state":{"end":{"time":"2026-01-02T03:04:05Z","state":"Held"}}}`
	}
	server := answering(t, map[string]string{
		"/apis/orcon.tengu.io/v1alpha1": `{"kind":"APIResourceList","groupVersion":"orcon.tengu.io/v1alpha1",
			"resources":[{"name":"relationsides","kind":"RelationSide","namespaced":true}]}`,
		group + "namespaces/shop/relationsides": listOf("RelationSide", side("a", "Provider")+","+side("b", "Provider")+","+side("c", "Requirer")+
			`,{"metadata":{"namespace":"shop","name":"lives"},"spec":{"role":"Provider"}}`),
	})
	_, out, _ := call("", append(append([]string{"__complete", "ends", "keep"}, server...), "")...)
	assert.Equal(t, "a\nb\n:4\n", out)
	_, out, _ = call("", append(append([]string{"__complete", "ends", "keep"}, server...), "a", "")...)
	assert.Equal(t, "b\n:4\n", out)
}
