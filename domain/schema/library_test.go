package schema_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// builtIn returns an interface of the library.
func builtIn(t testing.TB, name string) schema.Interface {
	t.Helper()
	all, err := schema.Library()
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(i schema.Interface) bool { return i.Name == name })
	require.GreaterOrEqual(t, i, 0, "the library has no %s", name)
	return all[i]
}

// The built-in interfaces that issue 3 names are there, each is as its author
// promises, and fits the linter that holds others to the same.
func TestLibrary(t *testing.T) {
	all, err := schema.Library()
	require.NoError(t, err)
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
		t.Run(i.Name, func(t *testing.T) {
			assert.Positive(t, i.Version)
			assert.NotEmpty(t, i.Description)
			assert.Empty(t, schema.Evolves(i, i), "what is a set is in canonical order")
			fields := 0
			for place, b := range i.Bags {
				fields += len(b.Fields)
				assert.Equal(t, len(b.Fields) > 0, len(b.Examples) > 0, "%s: an example where there are fields", schema.Place(place))
				shown := map[string]bool{}
				for _, example := range b.Examples {
					for name := range example {
						shown[name] = true
					}
				}
				for _, f := range b.Fields {
					assert.True(t, strings.HasSuffix(f.Description, "."), "%s: a sentence", f.Name)
					assert.True(t, shown[f.Name] || !f.Ready, "%s: an example shows each field that makes ready", f.Name)
				}
			}
			assert.Positive(t, fields)
		})
	}
	assert.True(t, slices.IsSorted(names))
	assert.Subset(t, names, strings.Fields(`postgresql_client mysql_client mongodb_client kafka_client redis s3 ingress ingress_per_unit
		tls_certificates prometheus_scrape grafana_datasource loki_push_api oauth smtp ldap amqp http syslog vault_kv mqtt sse opensearch_client`))
}

// Each example fits and makes its side ready, if it is the bag that does.
func TestLibraryExamples(t *testing.T) {
	all, err := schema.Library()
	require.NoError(t, err)
	for _, i := range all {
		for place, e := range ends() {
			for n, example := range i.Bag(e.role, e.isApplication).Examples {
				t.Run(fmt.Sprintf("%s/%s/%d", i.Name, place, n), func(t *testing.T) {
					assert.Empty(t, i.Check(e.role, e.isApplication, example))
					assert.Empty(t, i.Missing(e.role, e.isApplication, example))
				})
			}
		}
	}
}

// broken is a bag that must not fit.
type broken struct {
	Why  string
	Bag  string
	Data map[string]string
	// At lists the paths of the violations, in order.
	At []string
}

// An example that cannot fail proves nothing: each interface has bags that are
// wrong, and exactly what is wrong with them is told.
func TestLibraryBrokenExamples(t *testing.T) {
	all, err := schema.Library()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join("testdata", "broken.yaml"))
	require.NoError(t, err)
	var cases map[string][]broken
	require.NoError(t, yaml.Unmarshal(text, &cases))
	for _, i := range all {
		require.NotEmpty(t, cases[i.Name], "testdata/broken.yaml has nothing wrong of %s", i.Name)
		for n, tc := range cases[i.Name] {
			t.Run(fmt.Sprintf("%s/%d", i.Name, n), func(t *testing.T) {
				e, known := ends()[tc.Bag]
				require.True(t, known, tc.Bag)
				var at []string
				for _, v := range i.Check(e.role, e.isApplication, tc.Data) {
					at = append(at, v.Path)
					assert.NotEmpty(t, v.Reason)
					assert.True(t, strings.HasPrefix(v.Schema, "/"), "RELATIONS.md P4: where the schema says so")
				}
				assert.Equal(t, tc.At, at, tc.Why)
			})
		}
	}
	assert.Len(t, cases, len(all), "no case is for an interface that is gone")
}

// Each shape that a conversation can have is carried by some interface
// (RELATIONS.md, Interfaces).
func TestLibraryShapes(t *testing.T) {
	missing := func(name string, e end) []string {
		return builtIn(t, name).Missing(e.role, e.isApplication, nil)
	}
	here := ends()
	assert.Equal(t, []string{"database"}, missing("postgresql_client", here["requirer/application"]), "the requirer speaks first")
	assert.Equal(t, []string{"database", "host", "password", "username"}, missing("postgresql_client", here["provider/application"]))
	assert.Equal(t, []string{"host"}, missing("smtp", here["provider/application"]), "the provider speaks first")
	assert.Empty(t, missing("smtp", here["requirer/application"]))
	assert.Equal(t, []string{"host", "port"}, missing("ingress_per_unit", here["requirer/unit"]), "data of each unit")
	wireguard := builtIn(t, "wireguard")
	assert.Equal(t, wireguard.Bags[schema.ProviderUnit].Fields, wireguard.Bags[schema.RequirerUnit].Fields, "the same both ways")
	assert.Equal(t, []string{"endpoint", "public-key"}, wireguard.Missing(application.Peer, false, nil), "also for peers")
}

// What a Service says of itself is all that a provider without code gives
// (RELATIONS.md, Declarations): wherever the requirer needs no more the relation
// is ready, and nowhere is it refused.
func TestPlainProviders(t *testing.T) {
	external := map[string]string{"host": "sse.example.org"}
	service := map[string]string{"host": "sse.shop.svc", "port": "8080", "ports": "web=8080,admin=9", "url": "http://sse.shop.svc:8080"}
	unnamed := map[string]string{"host": "sse.shop.svc", "port": "8080", "ports": "8080", "url": "tcp://sse.shop.svc:8080"}
	unit := map[string]string{"ingress-address": "10.1.2.3", "private-address": "10.1.2.3", "egress-subnets": "10.1.2.3/32"}
	all, err := schema.Library()
	require.NoError(t, err)
	for _, i := range all {
		for _, bag := range []map[string]string{external, service, unnamed} {
			assert.Empty(t, i.Check(application.Provider, true, bag), i.Name)
		}
		for _, role := range []application.Role{application.Provider, application.Requirer} {
			assert.Empty(t, i.Check(role, false, unit), "%s: RELATIONS.md L2", i.Name)
		}
	}
	for _, name := range []string{"sse", "http", "db", "redis", "smtp", "syslog", "mqtt", "prometheus_scrape", "loki_push_api"} {
		assert.Empty(t, builtIn(t, name).Missing(application.Provider, true, external), name)
	}
}

// An interface that closes its bags does not close them to what Orcon itself
// writes.
func TestGivenKeysNeedNoSchema(t *testing.T) {
	const closed = "{schema: {additionalProperties: false, patternProperties: {'.': {maxLength: 1}}}}"
	i := parse(t, "provider: {application: "+closed+", unit: "+closed+"}\nrequirer: {application: "+closed+", unit: "+closed+"}")
	derived := map[string]string{"host": "db.shop.svc", "port": "5432", "ports": "5432", "url": "tcp://db.shop.svc:5432"}
	addresses := map[string]string{"ingress-address": "10.1.2.3", "private-address": "10.1.2.3", "egress-subnets": "10.1.2.3/32"}
	assert.Empty(t, i.Check(application.Provider, true, derived))
	assert.Empty(t, i.Check(application.Provider, false, addresses))
	assert.Empty(t, i.Check(application.Requirer, false, addresses))
	assert.Len(t, i.Check(application.Requirer, true, derived), len(derived), "a requirer has none of it")
	assert.Len(t, i.Check(application.Provider, true, addresses), len(addresses))
	maps.DeleteFunc(derived, func(k, _ string) bool { return k != "url" })
	strict := parse(t, "provider: {application: {schema: {properties: {url: {description: An address., pattern: '^https://'}}}}}")
	assert.Len(t, strict.Check(application.Provider, true, derived), 1, "a given key that a schema does declare is judged by it")
}
