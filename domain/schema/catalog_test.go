package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

func versionOf(name string, version int) schema.Interface {
	return schema.Interface{Name: name, Version: version}
}

// Whatever the order in which interfaces become known, the same one is found; no
// version means the lowest, and what is known is not replaced (SAFETY.md S5, M8).
func TestCatalog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfDistinct(rapid.IntRange(1, 9), rapid.ID).Draw(t, "versions")
		builtIn := schema.NewCatalog(schema.Interface{Name: "a", Version: 5, Description: "built in"})
		c := builtIn
		for _, v := range all {
			c = c.With(versionOf("a", v), versionOf("b", v))
		}
		lowest := 5
		for _, v := range all {
			lowest = min(lowest, v)
			_, found := c.Find("a", v)
			assert.True(t, found)
		}
		unnamed, found := c.Find("a", 0)
		assert.True(t, found)
		assert.Equal(t, lowest, unnamed.Version)
		five, _ := c.Find("a", 5)
		assert.Equal(t, "built in", five.Description)
		_, found = c.Find("a", 10)
		assert.False(t, found)
		again, _ := builtIn.Find("a", 0)
		assert.Equal(t, 5, again.Version, "a catalog does not change")
	})
	_, found := schema.Catalog{}.Find("a", 0)
	assert.False(t, found)
}

// A consumer may read what the interface has in the provider's own bag, but for secrets
// (SAFETY.md P7).
func TestFields(t *testing.T) {
	library, err := schema.Library()
	require.NoError(t, err)
	catalog := schema.NewCatalog(library...)
	got := catalog.Fields(application.Endpoint{Name: "store", Interface: "postgresql_client"})
	assert.Equal(t, []string{"database", "endpoints", "host", "port", "read-only-endpoints", "rotated", "tls", "tls-ca", "username", "version"}, got)
	assert.Empty(t, catalog.Fields(application.Endpoint{Name: "store", Interface: "postgresql_client", Version: 9}))
	assert.Empty(t, catalog.Fields(application.Endpoint{Name: "store", Interface: "unknown"}))
}

const shopdb = "name: shop_db\nversion: %d\ndescription: A shop's.\nprovider: {application: {ready: [host], schema: {properties: {host: {description: Where.}%s}}}}\n"

// What is published is in force, or says why not and what to do (SAFETY.md S5, C1).
func TestAdmit(t *testing.T) {
	library, err := schema.Library()
	require.NoError(t, err)
	builtIn := schema.NewCatalog(library...)
	mistyped := strings.Replace(fmt.Sprintf(shopdb, 1, ""), "ready:", "redy:", 1)
	tests := map[string]struct {
		why     string
		in      schema.Published
		reason  string
		message string
	}{
		"New":      {why: "a name of the cluster's own", in: schema.Published{Object: "shop-db-v1", Document: fmt.Sprintf(shopdb, 1, "")}, reason: schema.ReasonPublished, message: "version 1 of shop_db is in force"},
		"Version":  {why: "a built-in one may be gone on with", in: schema.Published{Object: "sse-v2", Document: "{name: sse, version: 2, description: more}"}, reason: schema.ReasonPublished, message: "version 2 of sse is in force"},
		"BuiltIn":  {why: "and not be replaced", in: schema.Published{Object: "sse-v1", Document: "{name: sse, version: 1, description: mine}"}, reason: schema.ReasonBuiltIn, message: "version 1 of sse ships with Orcon and cannot be replaced"},
		"Name":     {why: "one object for a version", in: schema.Published{Object: "shop", Document: fmt.Sprintf(shopdb, 1, "")}, reason: schema.ReasonName, message: "create it with that name"},
		"Mistyped": {why: "a misspelt word is no word", in: schema.Published{Object: "shop-db-v1", Document: mistyped}, reason: schema.ReasonInvalid, message: "provider/application/redy: there is no such field here; write one of ready, secret, schema, examples"},
		"Changed":  {why: "a published version is immutable", in: schema.Published{Object: "shop-db-v1", Document: fmt.Sprintf(shopdb, 1, ""), Changed: true}, reason: schema.ReasonChanged, message: "publish the change as a new version"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, conditions, ok := builtIn.Admit(tc.in)
			assert.Equal(t, tc.reason == schema.ReasonPublished, ok, tc.why)
			require.Len(t, conditions, 3)
			assert.Equal(t, ok, conditions[0].True)
			assert.Equal(t, !ok, conditions[2].True, "a person must act")
			assert.Equal(t, tc.reason, conditions[0].Reason)
			assert.Contains(t, condition.Why(conditions).Message, tc.message, tc.why)
		})
	}
}

// Of very many problems some are told and the rest counted.
func TestAdmitTellsAFew(t *testing.T) {
	var fields strings.Builder
	for n := range 20 {
		fmt.Fprintf(&fields, ", f%d: {}", n)
	}
	_, conditions, _ := schema.Catalog{}.Admit(schema.Published{Object: "shop-db-v1", Document: fmt.Sprintf(shopdb, 1, fields.String())})
	assert.Contains(t, condition.Why(conditions).Message, "and 12 more")
}

// A version that breaks what an older one promised is in force, and says so
// (RELATIONS.md, Interfaces).
func TestBreaks(t *testing.T) {
	older := parse(t, "provider: {application: {schema: {properties: {host: {description: Where.}}}}}")
	newer := parse(t, "provider: {application: {ready: [host], schema: {properties: {host: {description: Where., maxLength: 3}}}}}")
	older.Name, newer.Name, older.Version, newer.Version = "a", "a", 1, 3
	between := older
	between.Version = 2
	assert.Empty(t, schema.NewCatalog(newer).Breaks(newer), "there is no other")
	assert.Empty(t, schema.NewCatalog(older, newer).Breaks(older))
	assert.Empty(t, schema.NewCatalog(older, between, newer).Breaks(between))
	told := schema.NewCatalog(older, between, newer).Breaks(newer)
	require.Len(t, told, 1)
	assert.Equal(t, condition.Incompatible, told[0].Type)
	assert.Contains(t, told[0].Message, "what fits version 2 may not fit this one: provider/application")
}

func TestObjectName(t *testing.T) {
	assert.Equal(t, "postgresql-client-v2", schema.ObjectName("postgresql_client", 2))
	assert.Equal(t, "sse-v1", schema.ObjectName("sse", 1))
}

// A typing error neither refuses what worked nor silences what is wrong.
func TestParseMode(t *testing.T) {
	for text, want := range map[string]schema.Mode{"": schema.Warn, "warn": schema.Warn, "enforce": schema.Enforce, "off": schema.Off, "Enforce": schema.Warn, "no": schema.Warn} {
		assert.Equal(t, want, schema.ParseMode(text), text)
	}
}

// Secrets in plain text are refused in every mode, all else where the namespace
// enforces; the refusal says where in the interface, and never the value
// (RELATIONS.md P4, P5).
func TestRefusal(t *testing.T) {
	i := builtIn(t, "postgresql_client")
	secret, port := map[string]string{"password": "hunter2"}, map[string]string{"port": "hunter2"}
	for _, mode := range []schema.Mode{schema.Warn, schema.Enforce, schema.Off} {
		err := i.Refusal(mode, application.Provider, true, secret)
		require.Error(t, err, "P5 %s", mode)
		assert.Contains(t, err.Error(), "password: the field is secret and its value is not a reference to a secret; expected secret:<id>: run id=$(secret-add password#file=FILE)")
		assert.Contains(t, err.Error(), "(postgresql_client@1 provider/application/schema/properties/password)")
		assert.NotContains(t, err.Error(), "hunter2")
		err = i.Refusal(mode, application.Provider, true, port)
		assert.Equal(t, mode == schema.Enforce, err != nil, mode)
		assert.NoError(t, i.Refusal(mode, application.Requirer, true, map[string]string{"database": "orders"}))
	}
}

// However much else is wrong, a secret in plain text is among what is told: it is
// what a write is always refused for (RELATIONS.md P5).
func TestSecretsAreToldFirst(t *testing.T) {
	i := parse(t, "provider: {application: {secret: [zz], schema: {properties: {zz: {description: A secret.}}, additionalProperties: false}}}")
	bag := map[string]string{"zz": "hunter2"}
	for n := range 2 * schema.MaxViolations {
		bag[fmt.Sprintf("a%02d", n)] = "x"
	}
	assert.Error(t, i.Refusal(schema.Warn, application.Provider, true, bag))
	assert.Len(t, i.Check(application.Provider, true, bag), schema.MaxViolations)
}

// What is withheld of a bag is exactly what is secret and in plain text, and what is
// kept is refused by nobody for that (RELATIONS.md P5).
func TestWithhold(t *testing.T) {
	i := builtIn(t, "postgresql_client")
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"", "plain", "secret:c6b9fk2t7m0q3v8x1z5d", "secret:short"})
		bag := rapid.MapOf(rapid.SampledFrom([]string{"password", "uri", "username", "other"}), value).Draw(t, "bag")
		before := fmt.Sprint(bag)
		kept, withheld := i.Withhold(application.Provider, true, bag)
		assert.Equal(t, before, fmt.Sprint(bag), "the caller's stays as it is")
		assert.Len(t, kept, len(bag)-len(withheld))
		for _, v := range i.Check(application.Provider, true, kept) {
			assert.False(t, v.Secret)
		}
		for _, v := range withheld {
			assert.True(t, v.Secret)
			assert.NotContains(t, kept, v.Path)
		}
	})
}

// What was most likely meant by a name that is not known (INJECTION.md I1).
func TestNear(t *testing.T) {
	library, err := schema.Library()
	require.NoError(t, err)
	c := schema.NewCatalog(library...)
	for name, want := range map[string]string{
		"postgresql": "postgresql_client", "postgres": "postgresql_client", "mysql": "mysql_client", "reddis": "redis", "htpp": "http",
		"redis": "", "pg": "", "web": "", "orders-db": "", "gossip": "", "main": "", "tp": "", "": "",
	} {
		assert.Equal(t, want, c.Near(name), "%q", name)
	}
}
