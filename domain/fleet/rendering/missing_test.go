package rendering_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/rendering"
)

// holder returns a ConfigMap or Secret with keys.
func holder(kind, name string, keys ...string) bundle.Object {
	data := fields{}
	for _, key := range keys {
		data[key] = "eA=="
	}
	return bundle.Object{"apiVersion": "v1", "kind": kind, "metadata": fields{"name": name, "namespace": "tools"}, "data": data}
}

// sequence returns what a member renders to.
func sequence(t require.TestingT, objects ...bundle.Object) bundle.Sequence {
	s, err := bundle.Order(objects)
	require.NoError(t, err)
	return s
}

// lacking returns what a member's pods name and its own rendering and an empty namespace do not have.
func lacking(t require.TestingT, pod fields, more ...bundle.Object) []bundle.Lack {
	o := workload("Deployment", "web", pod)
	o["metadata"] = fields{"name": "web", "namespace": "tools"}
	return bundle.Plan{Sequence: sequence(t, append(more, o)...)}.Lacks(nil)
}

// Names that neither the namespace nor a rendering has are found: from variables, volumes, pull secrets and the account
// (FLEET.md C3).
func TestMissing(t *testing.T) {
	from := func(kind, name, key string) any {
		return fields{"name": "A", "valueFrom": fields{kind: fields{"name": name, "key": key}}}
	}
	env := func(all ...any) fields { return fields{"containers": []any{container("x", "env", all)}} }
	optional := fields{"name": "A", "valueFrom": fields{"secretKeyRef": fields{"name": "db", "key": "a", "optional": true}}}
	token := bundle.Object{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": fields{"name": "db", "namespace": "tools"}}
	account := bundle.Object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": fields{"name": "qr", "namespace": "tools"}}
	tests := map[string]struct {
		why         string
		pod         fields
		own, beside []bundle.Object
		want        []string
	}{
		"Key":       {why: "a key of a Secret", pod: env(from("secretKeyRef", "db", "a")), want: []string{"Secret tools/db does not exist (it needs keys a)"}},
		"Own":       {why: "the member brings it", pod: env(from("secretKeyRef", "db", "a")), own: []bundle.Object{holder("Secret", "db", "a")}},
		"OwnKey":    {why: "the member brings it without the key", pod: env(from("secretKeyRef", "db", "b")), own: []bundle.Object{holder("Secret", "db", "a")}, want: []string{"Secret tools/db has no key b"}},
		"Beside":    {why: "another member brings it", pod: env(from("secretKeyRef", "db", "a")), beside: []bundle.Object{holder("Secret", "db", "a")}},
		"Kind":      {why: "a ConfigMap is no Secret", pod: env(from("secretKeyRef", "db", "a")), beside: []bundle.Object{holder("ConfigMap", "db", "a")}, want: []string{"Secret tools/db does not exist (it needs keys a)"}},
		"BesideKey": {why: "one key of two is missing", pod: env(from("configMapKeyRef", "c", "a"), from("configMapKeyRef", "c", "b")), beside: []bundle.Object{holder("ConfigMap", "c", "a")}, want: []string{"ConfigMap tools/c has no key b"}},
		"Keys":      {why: "each key once, sorted", pod: env(from("secretKeyRef", "db", "b"), from("secretKeyRef", "db", "a"), from("secretKeyRef", "db", "b")), want: []string{"Secret tools/db does not exist (it needs keys a, b)"}},
		"Made":      {why: "an operator makes it from what another member brings", pod: env(from("secretKeyRef", "db", "a")), beside: []bundle.Object{token}},
		"Optional":  {why: "its author can do without", pod: env(optional)},
		"EnvFrom":   {why: "all of an object", pod: fields{"containers": []any{container("x", "envFrom", []any{fields{"configMapRef": fields{"name": "c"}}})}}, want: []string{"ConfigMap tools/c does not exist"}},
		"Volume":    {why: "a volume", pod: fields{"volumes": []any{fields{"name": "v", "secret": fields{"secretName": "s"}}}}, want: []string{"Secret tools/s does not exist"}},
		"Pull":      {why: "a pull secret", pod: fields{"imagePullSecrets": []any{fields{"name": "p"}}}, want: []string{"Secret tools/p does not exist"}},
		"Account":   {why: "no pod starts without it", pod: fields{"serviceAccountName": "qr"}, want: []string{"ServiceAccount tools/qr does not exist"}},
		"Shared":    {why: "what all of a namespace share", pod: fields{"serviceAccountName": "qr"}, beside: []bundle.Object{account}},
		"Default":   {why: "each namespace has it", pod: fields{"serviceAccountName": "default"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var got []string
			for _, l := range rendering.Missing(lacking(t, tc.pod, tc.own...), []bundle.Sequence{sequence(t, tc.beside...)}) {
				got = append(got, l.String())
			}
			require.Len(t, got, len(tc.want), tc.why)
			for i, want := range tc.want {
				assert.True(t, strings.HasPrefix(got[i], want+":"), "%s: %s", tc.why, got[i])
			}
		})
	}
}

// Each key that a pod reads is missing exactly if no rendering has it, in whatever order the renderings come.
func TestMissingIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b"})
		held, read := map[string]bool{}, map[string]bool{}
		var beside []bundle.Sequence
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			name, keys := names.Draw(t, "name"), rapid.SliceOfDistinct(rapid.SampledFrom([]string{"k", "l", "m"}), rapid.ID).Draw(t, "keys")
			for _, key := range keys {
				held[name+"/"+key] = true
			}
			beside = append(beside, sequence(t, holder("ConfigMap", name, keys...)))
		}
		var variables []any
		for range rapid.IntRange(0, 5).Draw(t, "variables") {
			name, key := names.Draw(t, "name"), rapid.SampledFrom([]string{"k", "l", "m"}).Draw(t, "key")
			read[name+"/"+key] = true
			variables = append(variables, fields{"name": "V", "valueFrom": fields{"configMapKeyRef": fields{"name": name, "key": key}}})
		}
		lacks := lacking(t, fields{"containers": []any{container("x", "env", variables)}})
		missing := rendering.Missing(lacks, beside)
		found := map[string]bool{}
		for _, l := range missing {
			require.NotEmpty(t, l.Keys)
			for _, key := range l.Keys {
				found[l.ID.Name+"/"+key] = true
			}
		}
		for at := range read {
			require.Equal(t, !held[at], found[at], at)
		}
		require.Equal(t, missing, rendering.Missing(lacks, rapid.Permutation(beside).Draw(t, "order")))
		require.Equal(t, lacks, lacking(t, fields{"containers": []any{container("x", "env", variables)}}), "the argument stays")
	})
}
