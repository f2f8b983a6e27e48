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
		"is-leader":     `echo True`,
		"relation-ids":  `[ "$1" = database ]; echo database:1; echo database:2`,
		"relation-list": `[ "$1 $3" = "-r --app" ]; [ "$2" = database:1 ]; echo shop`, // the other one is ending
		"relation-get": `case "$1 $2" in
"--app "*) cat "$STATE/$3.$2" 2>/dev/null || true ;;
"ingress-address "*) cat "$STATE/address" ;;
esac`,
		"relation-set": `[ ! -e "$STATE/dies" ]; shift; for pair in "$@"; do printf %s "${pair#*=}" >"$STATE/postgres.${pair%%=*}"; done; echo >>"$STATE/answers"`,
		"secret-add":   `printf %s "${1#*=}" >"$STATE/secret"; echo secret:one`,
		"secret-set":   `[ ! -e "$STATE/dies" ]; [ "$1" = secret:one ]; printf %s "${2#*=}" >"$STATE/secret"`,
		"secret-get":   `[ "$*" = "--peek --format smart secret:one password" ]; cat "$STATE/secret"`,
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

// The handler of the example answers once, again when it is asked for another password or PostgreSQL has another address,
// and anew when PostgreSQL has lost its data. What a handler does before it fails leaves no password that is not the
// answer's: the next leader keeps the old one, or makes another.
func TestPostgreSQLAnswersAnew(t *testing.T) {
	state, bin := t.TempDir(), t.TempDir()
	for hook, script := range map[string]string{"database-relation-changed": "database-changed.sh", "leader-elected": "leader-elected.sh"} {
		text, err := os.ReadFile(filepath.Join("examples", "postgresql", script))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(bin, hook), text, 0o700))
	}
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
		// renews is set where the answer has another password, and dies where the handler ends before its answer.
		renews, dies bool
		// elected is set where the handler's unit has just become the leader.
		elected bool
	}{
		{why: "asked for the first time", answers: true, renews: true},
		{why: "nothing has changed"},
		{why: "another password is asked for", happens: func() { put("shop.rotate", "today") }, answers: true, renews: true},
		{why: "the data is lost", happens: func() { require.NoError(t, os.Remove(filepath.Join(state, "role"))) }, answers: true, renews: true},
		{why: "the pod has another address", happens: func() { put("address", "198.18.1.2") }, answers: true},
		{why: "all is as it was"},
		{why: "a unit with another address leads, and ends", happens: func() { put("address", "198.18.1.3"); put("dies", "") }, dies: true},
		{why: "the unit before leads again", happens: func() {
			put("address", "198.18.1.2")
			require.NoError(t, os.Remove(filepath.Join(state, "dies")))
		}},
		{why: "a unit changes the password, and ends", happens: func() { put("shop.rotate", "tomorrow"); put("dies", "") }, dies: true},
		{
			why: "another unit leads", happens: func() { require.NoError(t, os.Remove(filepath.Join(state, "dies"))) },
			elected: true, answers: true, renews: true,
		},
		{why: "another unit leads, and nothing is left to do", elected: true},
		{why: "an attempt that was not stored has changed the password", happens: func() { put("password", "lost") }},
		{why: "an attempt that was not stored has changed the password, and another unit leads", happens: func() { put("password", "lost") }, elected: true},
	}
	for _, step := range steps {
		if step.happens != nil {
			step.happens()
		}
		env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "STATE=" + state, "JUJU_UNIT_NAME=postgres/0"}
		command := exec.CommandContext(t.Context(), filepath.Join(bin, "leader-elected"))
		if !step.elected {
			command = exec.CommandContext(t.Context(), filepath.Join(bin, "database-relation-changed"))
			env = append(env, "JUJU_REMOTE_APP=shop", "JUJU_RELATION_ID=database:1")
		}
		command.Env = env
		out, err := command.CombinedOutput()
		require.Equal(t, step.dies, err != nil, "%s: %s", step.why, out)
		if step.dies {
			continue
		}
		if step.answers {
			answers++
		}
		if step.renews {
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
