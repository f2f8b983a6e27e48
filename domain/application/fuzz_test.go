package application_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// told checks that every problem names its key and a reason.
func told(t *testing.T, problems []application.Problem) {
	t.Helper()
	for _, p := range problems {
		require.NotEmpty(t, p.Key)
		require.NotEmpty(t, p.Reason)
		require.NotEmpty(t, p.Error())
	}
}

func endpoints(t *testing.T, found []application.Endpoint, problems []application.Problem) {
	t.Helper()
	told(t, problems)
	for _, e := range found {
		require.Regexp(t, `^[a-z][a-z0-9_-]{0,62}$`, e.Name)
		require.Regexp(t, `^[a-z][a-z0-9_-]{0,62}$`, e.Interface)
		require.GreaterOrEqual(t, e.Version, 0)
		require.GreaterOrEqual(t, e.Limit, 0)
	}
}

func FuzzParseProvides(f *testing.F) {
	f.Add("sse,db:postgresql@1")
	f.Fuzz(func(t *testing.T, text string) {
		found, problems := application.ParseProvides(text)
		endpoints(t, found, problems)
	})
}

func FuzzParseConsumes(f *testing.F) {
	f.Add("sse,db:postgresql@1?!2")
	f.Fuzz(func(t *testing.T, text string) {
		found, problems := application.ParseConsumes(text)
		endpoints(t, found, problems)
	})
}

func FuzzParsePeers(f *testing.F) {
	f.Add("ring:gossip")
	f.Fuzz(func(t *testing.T, text string) {
		found, problems := application.ParsePeers(text)
		endpoints(t, found, problems)
	})
}

func FuzzParseRelations(f *testing.F) {
	f.Add("db=pg.data:primary,sse-endpoint")
	f.Fuzz(func(t *testing.T, text string) {
		found, problems := application.ParseRelations(text)
		told(t, problems)
		for _, r := range found {
			again, problems := application.ParseRelations(r.String())
			require.Empty(t, problems)
			require.Equal(t, []application.Reference{r}, again)
		}
	})
}

func FuzzParseData(f *testing.F) {
	f.Add("host: db\nport: 5432")
	f.Add("a: &x b\nc: *x")
	f.Fuzz(func(t *testing.T, text string) {
		bag, problems := application.ParseData("data.tengu.io/db", text)
		told(t, problems)
		require.Equal(t, bag == nil, len(problems) > 0)
		for key, value := range bag {
			require.Nil(t, databag.CheckPair(key, value))
			require.True(t, utf8.ValidString(value))
		}
	})
}

func FuzzParseEnv(f *testing.F) {
	f.Add("db=user,password;cache=token")
	f.Fuzz(func(t *testing.T, text string) {
		asked, problems := application.ParseEnv(text)
		told(t, problems)
		for endpoint := range asked {
			require.Regexp(t, `^[a-z][a-z0-9_-]{0,62}$`, endpoint)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("sse", "tengu.io/consumes", "db", "tengu.io/relations", "pg")
	f.Add("", "data.tengu.io/db", "a: b", "tengu.io/env", "db=a")
	f.Fuzz(func(t *testing.T, label, key1, value1, key2, value2 string) {
		labels := map[string]string{"tengu.io/provides": label}
		annotations := map[string]string{key1: value1, key2: value2}
		d, problems := application.Parse(labels, annotations)
		again, same := application.Parse(labels, annotations)
		require.Equal(t, d, again)
		require.Equal(t, problems, same)
		seen := map[string]bool{}
		for _, e := range d.Endpoints {
			require.False(t, seen[e.Name])
			seen[e.Name] = true
		}
	})
}
