package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// The fields of interfaces and the keys asked for are variables (SAFETY.md P7).
func TestParseSettingsVariables(t *testing.T) {
	env := map[string]string{"ORCON_CONSUMES": "main:db,cache", "ORCON_FIELDS": "cache=size;main=database,username", "ORCON_ENV": "main=password,database"}
	got, problems := ParseSettings(func(name string) string { return env[name] })
	assert.Empty(t, problems)
	asked := map[string]bool{}
	for _, v := range got.Variables {
		asked[v.Name] = v.Asked
	}
	for name, want := range map[string]bool{"MAIN_USERNAME": false, "MAIN_DATABASE": true, "MAIN_PASSWORD": true, "CACHE_SIZE": false, "CACHE_HOST": false} {
		is, known := asked[name]
		assert.True(t, known, name)
		assert.Equal(t, want, is, name)
	}
}

// What the webhook wrote is read as it meant it, and what it would never have
// written costs itself alone (SAFETY.md I19).
func TestParseSettings(t *testing.T) {
	tests := map[string]struct {
		why   string
		env   map[string]string
		want  func(*Settings)
		wrong string
	}{
		"Post":   {why: "to a port of the pod", env: map[string]string{"ORCON_ON_CHANGE": "http://localhost:80/x", "ORCON_BATCH": "true"}, want: func(s *Settings) { s.OnChange.Post, s.Batch = injection.Post{Port: 80, Path: "/x"}, true }},
		"Signal": {why: "by its short name", env: map[string]string{"ORCON_ON_CHANGE": "signal:SIGUSR1"}, want: func(s *Settings) { s.OnChange.Signal = "USR1" }},
		"Away":   {why: "nothing leaves the pod, whoever wrote it", env: map[string]string{"ORCON_ON_CHANGE": "http://evil:80/x"}, want: func(*Settings) {}, wrong: application.KeyOnChange},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want, _ := ParseSettings(func(string) string { return "" })
			tc.want(&want)
			got, problems := ParseSettings(func(name string) string { return tc.env[name] })
			assert.Equal(t, want, got, tc.why)
			if tc.wrong == "" {
				assert.Empty(t, problems)
				return
			}
			require.Len(t, problems, 1)
			assert.Equal(t, tc.wrong, problems[0].Key)
		})
	}
}
