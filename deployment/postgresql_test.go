package deployment_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tools are the programs that the handler of the example calls. Bags are folders, the roles and
// databases of PostgreSQL files, and secrets files with the last password.
func tools() map[string]string {
	return map[string]string{
		"is-leader": `echo True`,
		"relation-get": `case "$1 $2" in
"--app "*) cat "$STATE/$3.$2" 2>/dev/null || true ;;
"ingress-address "*) cat "$STATE/address" ;;
esac`,
		"relation-set": `shift; for pair in "$@"; do printf %s "${pair#*=}" >"$STATE/postgres.${pair%%=*}"; done; echo >>"$STATE/answers"`,
		"secret-add":   `printf %s "${1#*=}" >"$STATE/secret"; echo secret:one`,
		"secret-set":   `[ "$1" = secret:one ]; printf %s "${2#*=}" >"$STATE/secret"`,
		"secret-grant": `[ "$1 $2 $3" = "secret:one -r database:1" ]`,
		"psql": `for last; do :; done
case "$last" in
*rolname*) cat "$STATE/role" 2>/dev/null || true ;;
*datdba*) cat "$STATE/database" ;;
postgres) # the statements of standard input
  password=$(sed -n "s/^ALTER ROLE .* PASSWORD '\(.*\)';/\1/p")
  echo relation_1 >"$STATE/role"; echo relation_1 >"$STATE/database"; printf %s "$password" >"$STATE/password" ;;
esac`,
	}
}

// The handler of the example answers once, again when it is asked for another password, and anew
// when PostgreSQL has lost its data or has another address: else a restart is for ever wrong.
func TestPostgreSQLAnswersAnew(t *testing.T) {
	state, bin := t.TempDir(), t.TempDir()
	for name, text := range tools() {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nset -eu\n"+text+"\n"), 0o700))
	}
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(state, name), []byte(text), 0o600))
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(state, name))
		require.NoError(t, err)
		return string(text)
	}
	put("shop.database", "orders")
	put("address", "198.18.1.1")
	answers, password := 0, ""
	steps := []struct {
		why     string
		happens func()
		answers bool
	}{
		{"asked for the first time", func() {}, true},
		{"nothing has changed", func() {}, false},
		{"another password is asked for", func() { put("shop.rotate", "today") }, true},
		{"the data is lost", func() { require.NoError(t, os.Remove(filepath.Join(state, "role"))) }, true},
		{"the pod has another address", func() { put("address", "198.18.1.2") }, true},
		{"all is as it was", func() {}, false},
	}
	for _, step := range steps {
		step.happens()
		command := exec.CommandContext(t.Context(), "sh", "examples/postgresql/database-changed.sh")
		command.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "STATE=" + state, "JUJU_REMOTE_APP=shop", "JUJU_UNIT_NAME=postgres/0", "JUJU_RELATION_ID=database:1"}
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", step.why, out)
		if step.answers {
			answers++
			assert.NotEqual(t, password, read("secret"), step.why)
			password = read("secret")
		}
		assert.Equal(t, answers, strings.Count(read("answers"), "\n"), step.why)
		assert.Equal(t, password, read("secret"), step.why)
		assert.Equal(t, read("secret"), read("password"), "%s: the secret is the password of the role", step.why)
		assert.Equal(t, read("address"), read("postgres.host"), step.why)
		assert.Equal(t, "relation_1\n", read("role"), step.why)
	}
}
