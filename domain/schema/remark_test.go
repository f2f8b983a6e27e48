package schema_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

func TestRemarks(t *testing.T) {
	library, err := schema.Library()
	require.NoError(t, err)
	known := schema.NewCatalog(library...)
	tests := map[string]struct {
		why         string
		annotations map[string]string
		mode        schema.Mode
		want        []string
		refuses     bool
	}{
		"Fits":      {why: "nothing to remark", annotations: map[string]string{"tengu.io/provides": "web:http", "data.tengu.io/web": "port: 80"}},
		"OwnName":   {why: "an interface needs no document", annotations: map[string]string{"tengu.io/provides": "a:shopdb"}},
		"Misspelt":  {why: "the nearest", annotations: map[string]string{"tengu.io/consumes": "a:reddis"}, want: []string{`tengu.io/consumes: "reddis": no such interface is known, so its data is not checked; did you mean a:redis?`}},
		"Beginning": {why: "so does its beginning", annotations: map[string]string{"tengu.io/consumes": "a:postgresql"}, want: []string{`"postgresql": no such interface is known, so its data is not checked; did you mean a:postgresql_client?`}},
		"Short":     {why: "endpoint and interface share the name", annotations: map[string]string{"tengu.io/consumes": "reddis?!1"}, want: []string{`tengu.io/consumes: "reddis": no such interface is known, so its data is not checked; did you mean redis?!1?`}},
		"Version":   {why: "a version that it has", annotations: map[string]string{"tengu.io/provides": "a:redis@9"}, want: []string{`tengu.io/provides: "redis@9": no such version is known, so its data is not checked; write a:redis@1`}},
		"Unfit": {
			why: "SAFETY.md I27: told in mode warn", annotations: map[string]string{"tengu.io/provides": "web:http", "data.tengu.io/web": "port: none"},
			want: []string{`data.tengu.io/web: "port"`},
		},
		"Enforced": {
			why: "and refused in mode enforce", annotations: map[string]string{"tengu.io/provides": "web:http", "data.tengu.io/web": "port: none"},
			mode: schema.Enforce, want: []string{`data.tengu.io/web: "port"`}, refuses: true,
		},
		"Field": {
			why: "a key near to a field", annotations: map[string]string{"tengu.io/provides": "web:http", "data.tengu.io/web": "prot: 80"},
			want: []string{`data.tengu.io/web: "prot": interface http has no such field; did you mean port?`},
		},
		"Variable": {
			why: "of the provider's fields; the cure is the whole entry", annotations: map[string]string{"tengu.io/consumes": "web:http", "tengu.io/env": "web=port,hostt"},
			want: []string{`tengu.io/env: "hostt": interface http has no such field; did you mean web=port,host?`},
		},
		"Joined": {
			why: "what follows the comma was a key, silently", annotations: map[string]string{"tengu.io/consumes": "store:pg,cache:cash", "tengu.io/env": "store=username,cache=token,x"},
			want: []string{`tengu.io/env: "cache=token": ';' separates entries, and this is taken for a key of endpoint store; write store=username;cache=token,x`},
		},
		"Equals": {why: "a key of a databag may have one", annotations: map[string]string{"tengu.io/consumes": "store:pg", "tengu.io/env": "store=a=b"}},
		"Off":    {why: "the namespace wants no schemas", annotations: map[string]string{"tengu.io/consumes": "a:reddis"}, mode: schema.Off},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			declared, problems := application.Parse(nil, tc.annotations)
			require.NoError(t, application.Refusals(problems))
			remarks := known.Remarks(declared, tc.mode)
			require.Len(t, remarks, len(tc.want), tc.why)
			for i, want := range tc.want {
				assert.Contains(t, remarks[i].Problem.Error(), want, tc.why)
				assert.NotEmpty(t, remarks[i].About, "the value, for who must not publish it")
				assert.Equal(t, tc.refuses, !remarks[i].Problem.Warning, tc.why)
			}
		})
	}
	assert.Empty(t, schema.Catalog{}.Remarks(application.Declaration{}, schema.Warn))
}
