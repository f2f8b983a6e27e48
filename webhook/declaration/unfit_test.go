package declaration_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/declaration"
)

// shelf is what ships with Orcon, and a version 2 of sse; its namespaces want the mode.
type shelf struct {
	catalog schema.Catalog
	mode    schema.Mode
}

func (s shelf) Catalog(context.Context) schema.Catalog   { return s.catalog }
func (s shelf) Mode(context.Context, string) schema.Mode { return s.mode }

func judging(t *testing.T, mode schema.Mode) *declaration.Handler {
	t.Helper()
	library, err := schema.Library()
	require.NoError(t, err)
	newer, problems := schema.Parse([]byte("{name: sse, version: 2, description: more, provider: {application: {schema: {properties: {topic: {description: Which., pattern: ^t}}}}}}"))
	require.Empty(t, problems)
	return &declaration.Handler{
		Settings: func() injection.Settings { return injection.Settings{Config: injection.DefaultConfig()} },
		Services: &declaration.Index{},
		Schemas:  shelf{schema.NewCatalog(library...).With(newer), mode},
	}
}

const plainText = `"password": the field is secret and its value is not a reference to a secret; expected the annotation secret.tengu.io/main instead, with the name of the Secret to grant`

// What is declared is judged by its interface where the object itself says which:
// told by default, refused where the namespace enforces, and secrets in plain text
// are refused in both (RELATIONS.md P5, SAFETY.md I27). Values are never told.
func TestUnfitData(t *testing.T) {
	port := `metadata.annotations[data.tengu.io/main]: "port": it does not match the pattern; expected 1 to 5 digits (^[0-9]{1,5}$)`
	tests := map[string]struct {
		why      string
		manifest string
		told     string
		// warns is set where it is admitted in both modes.
		warns bool
		// always is set where it is refused in both modes.
		always bool
	}{
		"Fits":      {why: "nothing to say", manifest: service("", "tengu.io/provides: 'main:db', data.tengu.io/main: 'port: 5432'")},
		"Unfit":     {why: "field, reason, cure", manifest: service("", "tengu.io/provides: 'main:db', data.tengu.io/main: '{host: db, port: hunter2}'"), told: port},
		"Secret":    {why: "with the command that does it right", manifest: service("", "tengu.io/provides: 'main:db', data.tengu.io/main: 'password: hunter2'"), told: `metadata.annotations[data.tengu.io/main]: ` + plainText, always: true},
		"Reference": {why: "which is no plain text", manifest: service("", "tengu.io/provides: 'main:db', data.tengu.io/main: 'password: secret:c6b9fk2t7m0q3v8x1z5d'")},
		"Version":   {why: "the one that is named", manifest: service("", "tengu.io/provides: 'main:sse@2', data.tengu.io/main: 'topic: hunter2'"), told: `"topic": it does not match`},
		"Lowest":    {why: "none is named: the lowest, which has no such field", manifest: service("", "tengu.io/provides: 'main:sse', data.tengu.io/main: 'topic: hunter2'")},
		"Unknown":   {why: "nobody published it", manifest: service("", "tengu.io/provides: 'main:shopdb', data.tengu.io/main: 'password: hunter2'")},
		"Elsewhere": {why: "another object declares the endpoint: the controller's to tell", manifest: service("", "data.tengu.io/main: 'password: hunter2'")},
		"Requirer":  {why: "each side has its own fields", manifest: deployment("tengu.io/consumes: 'store:postgresql_client', tengu.io/relations: db, data.tengu.io/store: 'database: \"hunter 2\"'", ""), told: `metadata.annotations[data.tengu.io/store]: "database": it does not match the pattern`},
		"Misspelt":  {why: "which is data all the same", manifest: service("", "tengu.io/provides: 'main:db', data.tengu.io/main: 'hots: hunter2'"), told: `metadata.annotations[data.tengu.io/main]: "hots": interface db has no such field; did you mean host?`, warns: true},
		"Env":       {why: "of the fields that the provider sets", manifest: deployment("tengu.io/consumes: 'store:postgresql_client', tengu.io/relations: db", "tengu.io/env: 'store=usernme'"), told: `"usernme": interface postgresql_client has no such field; did you mean store=username?`, warns: true},
		"Template":  {why: "where it is written", manifest: deployment("tengu.io/relations: db", "tengu.io/consumes: 'store:postgresql_client', data.tengu.io/store: 'database: \"hunter 2\"'"), told: `spec.template.metadata.annotations[data.tengu.io/store]: "database": it does not match the pattern`},
	}
	for name, tc := range tests {
		for _, mode := range []schema.Mode{schema.Warn, schema.Enforce, schema.Off} {
			t.Run(name+"/"+string(mode), func(t *testing.T) {
				answer := ask(t, judging(t, mode), tc.manifest, "")
				refused := tc.told != "" && !tc.warns && mode != schema.Off && (tc.always || mode == schema.Enforce)
				require.Equal(t, !refused, answer.Allowed, tc.why)
				switch {
				case refused:
					assert.Contains(t, answer.Result.Message, tc.told, tc.why)
					assert.NotContains(t, answer.Result.Message, "hunter")
				case tc.told != "" && mode != schema.Off:
					require.Len(t, answer.Warnings, 1, tc.why)
					assert.Contains(t, answer.Warnings[0], tc.told, tc.why)
					assert.NotContains(t, answer.Warnings[0], "hunter")
				default:
					assert.Empty(t, answer.Warnings, tc.why)
				}
			})
		}
	}
}

// Only values that the request changes are judged: who admitted a password before the
// interface was known may still change a port (INJECTION.md I30).
func TestUnfitBefore(t *testing.T) {
	says := func(iface, data string) string {
		return service("", "tengu.io/provides: 'main:"+iface+"', data.tengu.io/main: '"+data+"'")
	}
	tests := map[string]struct {
		why         string
		before, now string
		allowed     bool
	}{
		"Same":     {why: "nothing changes", before: says("db", "{password: hunter2}"), now: says("db", "{password: hunter2}"), allowed: true},
		"Other":    {why: "another field changes", before: says("db", "{password: hunter2, port: 1}"), now: says("db", "{password: hunter2, port: 2}"), allowed: true},
		"Changed":  {why: "it changes", before: says("db", "{password: hunter2}"), now: says("db", "{password: hunter3}")},
		"New":      {why: "it comes", before: says("db", "{port: 1}"), now: says("db", "{password: hunter2, port: 1}")},
		"Renamed":  {why: "it becomes a secret by this request", before: says("shopdb", "{password: hunter2}"), now: says("db", "{password: hunter2}")},
		"Mended":   {why: "it goes", before: says("db", "{password: hunter2}"), now: says("db", "{port: 1}"), allowed: true},
		"SameOdd":  {why: "nothing changes", before: says("db", "{port: x}"), now: says("db", "{port: x}"), allowed: true},
		"OddOther": {why: "it is wrong in another way", before: says("db", "{port: x}"), now: says("db", "{port: y}")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, judging(t, schema.Enforce), tc.now, tc.before)
			assert.Equal(t, tc.allowed, answer.Allowed, tc.why)
			if tc.allowed {
				assert.Empty(t, answer.Warnings, tc.why)
			}
		})
	}
}

// A name that is most likely misspelt is answered with the right one, and a Service that
// would leave its consumers without a port is told so (INJECTION.md I1).
func TestWarnsOfInterfaces(t *testing.T) {
	tests := map[string]struct {
		why, manifest, before, warning string
		mode                           schema.Mode
	}{
		"Beginning": {
			why: "the library's name is longer", manifest: service("", "tengu.io/provides: 'x:postgresql'"),
			warning: `metadata.annotations[tengu.io/provides]: "postgresql": no such interface is known, so its data is not checked; did you mean x:postgresql_client?`,
		},
		"Typo": {
			why: "a letter too many", manifest: service("", "tengu.io/provides: 'x:reddis'"),
			warning: `metadata.annotations[tengu.io/provides]: "reddis": no such interface is known, so its data is not checked; did you mean x:redis?`,
		},
		"Version": {
			why: "the library has no such version", manifest: service("", "tengu.io/provides: 'x:redis@7'"),
			warning: `metadata.annotations[tengu.io/provides]: "redis@7": no such version is known, so its data is not checked; write x:redis@1`,
		},
		"Longest": {
			why: "I1: a warning is whole, however long the names are", manifest: service("", "tengu.io/provides: '"+strings.Repeat("a", 63)+":http'"),
			warning: "; add spec.ports, or a port to its data",
		},
		"Label":    {why: "where it stands", manifest: service("tengu.io/provides: reddis", ""), warning: `metadata.labels[tengu.io/provides]: "reddis": no such interface`},
		"Consumer": {why: "consumers err, too", manifest: deployment("tengu.io/relations: x", "tengu.io/consumes: 'x:reddis'"), warning: `spec.template.metadata.annotations[tengu.io/consumes]: "reddis": no such interface`},
		"Known":    {why: "it is known", manifest: service("", "tengu.io/provides: 'x:redis'")},
		"Own":      {why: "an interface needs no document", manifest: service("", "tengu.io/provides: 'x:shopdb,y:gossip,z:pg,w:orders-db'")},
		"Off":      {why: "the namespace wants no schemas", manifest: service("", "tengu.io/provides: 'x:reddis'"), mode: schema.Off},
		"Before":   {why: "I30: this request did not write it", manifest: service("", "tengu.io/provides: 'x:reddis', a: b"), before: service("", "tengu.io/provides: 'x:reddis'")},
		"NoPort": {
			why: "its consumers receive no port", manifest: service("", "tengu.io/provides: 'web:http'"),
			warning: `metadata.annotations[tengu.io/provides]: "web": the Service has no port, so that consumers receive its host without port and url; add spec.ports, or a port to its data`,
		},
		"Port":     {why: "it has one", manifest: strings.Replace(service("", "tengu.io/provides: 'web:http'"), "spec: {", "spec: {ports: [{port: 80}], ", 1)},
		"DataPort": {why: "its data has one", manifest: service("", "tengu.io/provides: 'web:http', data.tengu.io/web: 'port: 80'")},
		"SSE":      {why: "PROTOTYPE.md: the demo's Services have no ports", manifest: service("", "tengu.io/provides: sse")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, judging(t, tc.mode), tc.manifest, tc.before)
			require.True(t, answer.Allowed, "%v", answer.Result)
			if tc.warning == "" {
				assert.Empty(t, answer.Warnings, tc.why)
				return
			}
			require.Len(t, answer.Warnings, 1, tc.why)
			assert.Contains(t, answer.Warnings[0], tc.warning, tc.why)
		})
	}
}

// A bare pod that is not injected is judged by its keys (INJECTION.md I1).
func TestBarePods(t *testing.T) {
	pod := func(annotations string) string {
		return "kind: Pod\nmetadata: {name: web, annotations: {" + annotations + "}}\nspec: {containers: [{name: a}]}\n"
	}
	answer := ask(t, handler(), pod("tengu.io/consume: db, tengu.io/relation: pg"), "")
	assert.True(t, answer.Allowed)
	assert.Equal(t, []string{
		"metadata.annotations[tengu.io/consume]: this key is unknown and has no effect; did you mean tengu.io/consumes?",
		"metadata.annotations[tengu.io/relation]: this key is unknown and has no effect; did you mean tengu.io/relations?",
	}, answer.Warnings)
	assert.Empty(t, ask(t, handler(), pod("injector.tengu.io/mode: init, tengu.io/provides: web"), "").Warnings, "keys that are known")
}

// An answer has all that is wrong, whatever it refuses (SAFETY.md I27).
func TestAllFindings(t *testing.T) {
	wrong := service("", "tengu.io/provides: 'web:http@7,store:redis', data.tengu.io/store: '{prt: 1, port: none}'")
	answer := ask(t, judging(t, schema.Warn), wrong, "")
	require.True(t, answer.Allowed, "%v", answer.Result)
	for i, warning := range []string{
		`metadata.annotations[tengu.io/provides]: "web": the Service has no port`,
		`metadata.annotations[data.tengu.io/store]: "port"`,
		`metadata.annotations[tengu.io/provides]: "http@7": no such version is known, so its data is not checked; write web:http@1`,
		`metadata.annotations[data.tengu.io/store]: "prt": interface redis has no such field; did you mean port?`,
	} {
		require.Greater(t, len(answer.Warnings), i)
		assert.Contains(t, answer.Warnings[i], warning)
	}

	answer = ask(t, judging(t, schema.Enforce), wrong, "")
	require.False(t, answer.Allowed)
	assert.Contains(t, answer.Result.Message, `metadata.annotations[data.tengu.io/store]: "port"`)
	assert.Len(t, answer.Warnings, 3, "warnings are written beside the refusal")
	assert.True(t, ask(t, judging(t, schema.Enforce), wrong, wrong).Allowed, "I30: an update that changes none of it is admitted")
}
