package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

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
