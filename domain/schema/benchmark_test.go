package schema_test

import (
	"strings"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// BenchmarkCheck measures one look at a bag as it is written: a database's answer,
// one that is wrong, a list of certificates, and the worst that the limits of
// SAFETY.md S5 leave.
func BenchmarkCheck(b *testing.B) {
	database, certificates := builtIn(b, "postgresql_client"), builtIn(b, "tls_certificates")
	costly := parse(b, "provider: {application: {schema: {additionalProperties: {anyOf: ["+strings.Repeat("{pattern: '(a|b){20}[ab]*c$'}, ", 8)+"{const: b}]}}}}")
	busy := parse(b, "provider: {application: {schema: {additionalProperties: {"+json("items: {anyOf: ["+strings.Repeat("{const: 2}, ", 500)+"{}]}")+"}}}}")
	full := func(value string) map[string]string {
		bag := map[string]string{}
		for n := range databag.MaxBag / (len(value) + 4) {
			bag["k"+string(rune('a'+n/26%26))+string(rune('a'+n%26))] = value
		}
		return bag
	}
	cases := []struct {
		name string
		in   schema.Interface
		bag  map[string]string
	}{
		{"postgresql", database, database.Bags[schema.ProviderApplication].Examples[0]},
		{"wrong", database, map[string]string{"password": "hunter2", "port": "x"}},
		{"certificates", certificates, certificates.Bags[schema.ProviderApplication].Examples[0]},
		{"patterns", costly, full(strings.Repeat("a", 20000))},
		{"values", busy, full("[" + strings.Repeat("1,", schema.MaxJSONValues-2) + "1]")},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.in.Check(application.Provider, true, c.bag)
			}
		})
	}
}

// BenchmarkLibrary measures parsing and compiling all built-in interfaces.
func BenchmarkLibrary(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Library(); err != nil {
			b.Fatal(err)
		}
	}
}
