package application_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// The cure of a wrong name is the whole entry: who writes only the corrected name declares another endpoint with
// another interface, which is valid and never related.
func TestCuresAreWholeEntries(t *testing.T) {
	consumes := func(text string) []application.Problem {
		_, problems := application.ParseConsumes(text)
		return problems
	}
	relations := func(text string) []application.Problem {
		_, problems := application.ParseRelations(text)
		return problems
	}
	env := func(text string) []application.Problem {
		_, problems := application.ParseEnv(text)
		return problems
	}
	tests := map[string]struct {
		why, text, cure string
		parse           func(string) []application.Problem
	}{
		"Endpoint":     {"its interface stays", "My_DB:http", "write my_db:http", consumes},
		"Interface":    {"its endpoint stays", "a:HTTP?!1", "write a:http?!1", consumes},
		"Version":      {"a version stays", "A:http@2", "write a:http@2", consumes},
		"Space":        {"people write it", "catalogue: http", "write catalogue:http", consumes},
		"Semicolon":    {"another separator", "a:http; b:http", "write a:http,b:http", consumes},
		"Blank":        {"another separator", "a:http b:http", "write a:http,b:http", consumes},
		"Hopeless":     {"nothing is near", "éé:http", "choose a name such as db", consumes},
		"Reference":    {"its endpoint stays", "a=Catalogue", "write a=catalogue", relations},
		"Equals":       {"people write spaces", "a = catalogue", "write a=catalogue", relations},
		"Remote":       {"both ends stay", "a=catalogue.prod:API", "write a=catalogue.prod:api", relations},
		"ServiceName":  {"the cluster's DNS knows a Service so", "catalogue.prod.svc", "write catalogue.prod", relations},
		"WholeName":    {"or so", "db=pg.prod.svc.cluster.local:main", "write db=pg.prod:main", relations},
		"Underscore":   {"no application's name has one", "a_b=cat_alogue", "write a_b=cat-alogue", relations},
		"Variables":    {"its keys stay", "DB=username,password", "write db=username,password", env},
		"Colon":        {"as in other lists", "db:username, password", "write db=username,password", env},
		"Comma":        {"a key was left out", "db=username,,password,", "write db=username,password", env},
		"Twice":        {"the keys of both", "db=username;db=password", "list its keys in one entry: db=username,password", env},
		"NotRelations": {"a single name", "Catalogue", "write catalogue", relations},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			problems := tc.parse(tc.text)
			require.Len(t, problems, 1, tc.why)
			assert.Equal(t, tc.cure, problems[0].Cure, tc.why)
			if cured, writes := strings.CutPrefix(tc.cure, "write "); writes {
				assert.Empty(t, tc.parse(cured), "the cure works")
			}
		})
	}
}

// A cure is short, however long the entry is that it is for.
func TestCureOfALongEntry(t *testing.T) {
	_, problems := application.ParseConsumes("A:" + strings.Repeat("X;", 50<<10))
	require.Len(t, problems, 1)
	assert.Less(t, len(problems[0].Cure), 256)
}

// The cure of an endpoint of tengu.io/env that is misspelt is the whole entry.
func TestCuresOfEnv(t *testing.T) {
	tests := map[string]struct{ why, env, cure, cured string }{
		"Misspelt": {"its keys stay", "stroe=username,password", "did you mean store=username,password?", "store=username,password"},
		"Far":      {"nothing is near", "queue=username", "add it there, or remove it here", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			parse := func(env string) []application.Problem {
				_, problems := application.Parse(nil, map[string]string{
					application.KeyConsumes: "store:pg,cache:redis", application.KeyRelations: "store=db,cache=cache", application.KeyEnv: env,
				})
				return problems
			}
			problems := parse(tc.env)
			require.Len(t, problems, 1, tc.why)
			assert.Equal(t, tc.cure, problems[0].Cure, tc.why)
			if tc.cured != "" {
				assert.Empty(t, parse(tc.cured), "the cure works")
			}
		})
	}
}
