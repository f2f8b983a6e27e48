package negotiation_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// reference is one to a secret.
const reference = "secret:c6b9fk2t7m0q3v8x1z5d"

// library is what ships with Orcon.
func library(t require.TestingT) schema.Catalog {
	all, err := schema.Library()
	require.NoError(t, err)
	return schema.NewCatalog(all...)
}

// asking is a shop that has asked for a database, or not, and the database's side.
func asking(t *testing.T, mode schema.Mode, database string, annotations ...string) *world {
	t.Helper()
	w := newWorld()
	w.interfaces, w.schema = library(t), mode
	provider := map[string]string{application.KeyProvides: "main:postgresql_client"}
	for i := 0; i+1 < len(annotations); i += 2 {
		provider[annotations[i]] = annotations[i+1]
	}
	w.deployment("db", provider)
	more := []string(nil)
	if database != "" {
		more = []string{application.PrefixData + "store", "database: " + database}
	}
	w.consumes("web", "store:postgresql_client", "db", more...)
	w.pod(application.Deployment, "web", "web-0")
	w.settle(t)
	return w
}

// With a schema a required relation is complete when the fields that it marks as
// ready are there; those that are not are named (SAFETY.md V5).
func TestSchemaSaysWhenARelationIsComplete(t *testing.T) {
	all := map[string]string{"database": "orders", "host": "db", "password": reference, "username": "u"}
	without := func(keys ...string) map[string]string {
		bag := maps.Clone(all)
		for _, k := range keys {
			delete(bag, k)
		}
		return bag
	}
	tests := map[string]struct {
		why      string
		mode     schema.Mode
		database string
		said     map[string]string
		reason   string
		message  string
	}{
		"Nothing":   {why: "the requirer speaks first, and has not", reason: relation.ReasonNoData, message: "db:main has not provided database, host, password, username yet; web:store must set database first"},
		"Asked":     {why: "now it is the provider's turn", database: "orders", reason: relation.ReasonNoData, message: "db:main has not provided database, host, password, username yet"},
		"Part":      {why: "not empty is not enough", database: "orders", said: without("username"), reason: relation.ReasonMissing, message: "db:main has not provided username yet"},
		"Enforced":  {why: "the same where what does not fit is refused", mode: schema.Enforce, database: "orders", said: without("username"), reason: relation.ReasonMissing, message: "db:main has not provided username yet"},
		"All":       {why: "that is it", database: "orders", said: all, reason: relation.ReasonComplete, message: "web:store has the data that it needs from db:main"},
		"Unasked":   {why: "a provider may answer before it is asked", said: all, reason: relation.ReasonComplete, message: "web:store has the data that it needs from db:main"},
		"Off":       {why: "as without a schema: not empty", mode: schema.Off, said: map[string]string{"host": "db"}, reason: relation.ReasonComplete, message: "web:store has the data that it needs from db:main"},
		"OffNone":   {why: "as without a schema: empty", mode: schema.Off, reason: relation.ReasonNoData, message: "db:main has not provided data yet; annotate db with data.tengu.io/main, or call relation-set in its pods"},
		"EmptyWord": {why: "RELATIONS.md P3: an empty value is none", database: "orders", said: map[string]string{"host": "db", "username": ""}, reason: relation.ReasonMissing, message: "db:main has not provided database, password, username yet"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := asking(t, tc.mode, tc.database)
			if tc.said != nil {
				w.say(w.only(t), "db", "", tc.said)
				w.settle(t)
			}
			got := ready(w.only(t))
			assert.Equal(t, tc.reason, got.Reason, tc.why)
			assert.Equal(t, tc.message, got.Message, tc.why)
			assert.Equal(t, tc.reason == relation.ReasonComplete, got.True)
		})
	}
}

// The prototype's interfaces need what a Service says of itself and nothing else, in
// every mode; one that nobody published is judged as ever (SAFETY.md V5).
func TestPlainServicesAreCompleteAsEver(t *testing.T) {
	for _, mode := range []schema.Mode{"", schema.Warn, schema.Enforce, schema.Off} {
		for _, iface := range []string{"sse", "db", "http", "shopdb"} {
			w := newWorld()
			w.interfaces, w.schema = library(t), mode
			w.external("peer", "main:"+iface)
			w.consumes("web", "store:"+iface, "peer")
			w.settle(t)
			assert.True(t, ready(w.only(t)).True, "%s %s", mode, iface)
			assert.Len(t, w.only(t).State.Conditions, 3, "and nothing is said against it")
		}
	}
}

// A version that is published later does not make a relation wait that was complete
// (SAFETY.md M8): the lowest counts for endpoints that name none.
func TestNewerVersionConcernsWhoNamesIt(t *testing.T) {
	w := newWorld()
	w.interfaces = library(t)
	w.external("db", "main:db")
	w.consumes("web", "store:db", "db")
	w.settle(t)
	require.True(t, ready(w.only(t)).True)
	newer, problems := schema.Parse([]byte("{name: db, version: 2, description: more, provider: {application: {ready: [user], schema: {properties: {user: {description: who}}}}}}"))
	require.Empty(t, problems)
	w.interfaces = w.interfaces.With(newer)
	decisions, _ := w.negotiate(t)
	assert.Empty(t, decisions)
}

// What is declared says which of its fields no record may keep (RELATIONS.md P5).
func TestPublishedSecretsAreNamed(t *testing.T) {
	w := newWorld()
	w.interfaces = library(t)
	w.deployment("cache", map[string]string{application.KeyProvides: "main:redis,free:nobody", application.PrefixData + "main": "{host: c, password: '" + reference + "'}", application.PrefixData + "free": "{password: p}"})
	decisions, _ := w.negotiate(t)
	named := map[string][]string{}
	for _, d := range decisions {
		if p, ok := d.(relation.Publish); ok {
			named[p.Endpoint] = p.Secret
		}
	}
	assert.Equal(t, map[string][]string{"main": {"password"}, "free": nil}, named)
}

// What does not fit is told with side and field, never with the value
// (RELATIONS.md, Interfaces), and goes when it is mended.
func TestViolationsAreTold(t *testing.T) {
	w := asking(t, schema.Warn, "'not a name'")
	w.pod(application.Deployment, "db", "db-0")
	w.settle(t)
	r := w.only(t)
	w.say(r, "db", "", map[string]string{"port": "hunter2"})
	w.say(r, "db", "0", map[string]string{"state": "hunter3"})
	w.settle(t)
	told, there := condition.Find(w.only(t).State.Conditions, condition.SchemaViolated)
	require.True(t, there)
	assert.Equal(t, condition.Condition{Type: condition.SchemaViolated, True: true, Reason: relation.ReasonViolated,
		Message: `web:store: database: it does not match the pattern; expected ^[A-Za-z_][A-Za-z0-9_$-]*$; correct it in data.tengu.io/store of web, ` +
			`db:main: port: it does not match the pattern; expected 1 to 5 digits (^[0-9]{1,5}$); correct it in the handlers of db, which wrote it, ` +
			`db/0 on main: state: it is not one of the allowed values; expected "primary", "standby"`}, told)
	assert.NotContains(t, told.Message, "hunter")
	w.say(r, "db", "", map[string]string{"port": "hunter2", "database": "orders", "host": "db", "username": "u", "password": reference})
	w.settle(t)
	assert.Equal(t, "SchemaViolated", ready(w.only(t)).Reason, "a table does not call it complete")
	stalled, _ := condition.Find(w.only(t).State.Conditions, condition.Stalled)
	assert.Equal(t, condition.New(condition.Stalled, true, "SchemaViolated", "see condition SchemaViolated"), stalled, "an alert on Stalled reports it")
	assert.Equal(t, relation.Joined, w.only(t).State.Status, "the relation works")

	w.schema = schema.Off
	w.settle(t)
	_, there = condition.Find(w.only(t).State.Conditions, condition.SchemaViolated)
	assert.False(t, there, "whoever does not want to know is not told")

	w.schema = schema.Warn
	w.say(r, "db", "", map[string]string{"port": "5432"})
	w.say(r, "db", "0", map[string]string{"state": "primary"})
	w.consumes("web", "store:postgresql_client", "db", application.PrefixData+"store", "database: orders")
	w.settle(t)
	_, there = condition.Find(w.only(t).State.Conditions, condition.SchemaViolated)
	assert.False(t, there)
}

// A secret that was declared in plain text, before anybody could refuse it, enters
// no bag; its author is told (RELATIONS.md P5).
func TestDeclaredSecretsAreWithheld(t *testing.T) {
	data := []string{application.PrefixData + "main", "{host: db, password: hunter2, username: u, database: d}"}
	for _, mode := range []schema.Mode{"", schema.Enforce} {
		w := asking(t, mode, "d", data...)
		assert.Equal(t, map[string]string{"host": "db", "username": "u", "database": "d"}, w.databags[relation.DatabagName("db", "main")].Data)
		assert.Equal(t, "db:main has not provided password yet", ready(w.only(t)).Message)
		stalled, _ := condition.Find(w.records["db"].State.Conditions, condition.Stalled)
		assert.True(t, stalled.True)
		assert.Contains(t, stalled.Message, "data.tengu.io/main: left out: password: the field is secret")
		assert.Contains(t, stalled.Message, "secret.tengu.io/main", "the way that is right")
		assert.NotContains(t, stalled.Message, "hunter2")
	}
	w := asking(t, schema.Off, "d", data...)
	assert.Equal(t, "hunter2", w.databags[relation.DatabagName("db", "main")].Data["password"], "a namespace may say that it does not look")
	w = asking(t, schema.Warn, "d", application.PrefixData+"main", "{host: db, password: "+reference+", username: u, database: d}")
	assert.True(t, ready(w.only(t)).True, "a reference is no plain text")
}

// In whatever order bags are listed, the same is said of them: a message does not
// change while the problem is the same.
func TestViolationsAreOrderFree(t *testing.T) {
	w := asking(t, schema.Warn, "orders")
	for _, name := range []string{"db-0", "db-1", "db-2"} {
		w.pod(application.Deployment, "db", name)
	}
	w.settle(t)
	for _, unit := range []string{"2", "0", "1"} {
		w.say(w.only(t), "db", unit, map[string]string{"state": "odd"})
	}
	s := w.observe()
	want, _ := negotiation.Negotiate(s)
	require.Len(t, want, 1)
	slices.Reverse(s.Databags)
	got, _ := negotiation.Negotiate(s)
	assert.Equal(t, want, got)
}

// A provider without a Service is told so where its host is what is missing.
func TestNoServiceNoHost(t *testing.T) {
	w := newWorld()
	w.interfaces = library(t)
	w.deployment("site", map[string]string{application.KeyProvides: "pages:http"})
	w.consumes("front", "upstream:http", "site")
	w.settle(t)
	assert.Equal(t, "site:pages has not provided host yet; no Service of site declares the endpoint, which would provide host", ready(w.only(t)).Message)
	w.service("site", map[string]string{application.KeyProvides: "pages:http"})
	w.settle(t)
	assert.True(t, ready(w.only(t)).True, ready(w.only(t)).Message)
}
