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
		"secret-ids":   `[ ! -e "$STATE/secret" ] || echo one`,
		"secret-add":   `printf %s "${1#*=}" >"$STATE/secret"; echo secret:one`,
		"secret-set":   `[ ! -e "$STATE/dies" ]; [ "$1" = secret:one ]; printf %s "${2#*=}" >"$STATE/secret"`,
		"secret-get":   `[ "$*" = "--peek --format smart secret:one password" ]; cat "$STATE/secret"`,
		"secret-grant": `[ "$1 $2 $3" = "secret:one -r database:1" ]`,
		"status-set":   `[ "$*" = "-r database:1 active" ]`,
		"psql": `for last; do :; done
case "$last" in
*rolname*) cat "$STATE/role" 2>/dev/null || true ;;
*datdba*) cat "$STATE/database" 2>/dev/null || true ;;
postgres) # the statements of standard input
  password=$(sed -n "s/^ALTER ROLE .* PASSWORD '\(.*\)';/\1/p")
  echo relation_1 >"$STATE/role"; echo relation_1 >"$STATE/database"; printf %s "$password" >"$STATE/password" ;;
esac`,
	}
}

// postgreSQL runs the handlers of the example with tools in their place.
type postgreSQL struct{ state, bin string }

func newPostgreSQL(t *testing.T) postgreSQL {
	p := postgreSQL{t.TempDir(), t.TempDir()}
	for hook, script := range map[string]string{"database-relation-changed": "database-changed.sh", "leader-elected": "leader-elected.sh"} {
		text, err := os.ReadFile(filepath.Join("examples", "postgresql", script))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(p.bin, hook), text, 0o700))
	}
	p.replace(t, tools())
	return p
}

// replace replaces tools by others.
func (p postgreSQL) replace(t *testing.T, tools map[string]string) {
	for name, text := range tools {
		require.NoError(t, os.WriteFile(filepath.Join(p.bin, name), []byte("#!/bin/sh\nset -eu\n"+text+"\n"), 0o700))
	}
}

func (p postgreSQL) put(t *testing.T, name, text string) {
	require.NoError(t, os.WriteFile(filepath.Join(p.state, name), []byte(text), 0o600))
}

func (p postgreSQL) read(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(p.state, name))
	require.NoError(t, err)
	return string(text)
}

// run runs a handler with some variables more, and returns its output.
func (p postgreSQL) run(t *testing.T, hook string, more ...string) (string, error) {
	command := exec.CommandContext(t.Context(), filepath.Join(p.bin, hook))
	command.Env = append([]string{"PATH=" + p.bin + ":" + os.Getenv("PATH"), "STATE=" + p.state, "JUJU_UNIT_NAME=postgres/0"}, more...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// The handler of the example answers once, again when it is asked for another password or PostgreSQL has another address,
// and anew when PostgreSQL has lost its data. What a handler does before it fails leaves no password that is not the
// answer's: the next leader keeps the old one, or makes another.
func TestPostgreSQLAnswersAnew(t *testing.T) {
	p := newPostgreSQL(t)
	state, put, read := p.state, func(name, text string) { p.put(t, name, text) }, func(name string) string { return p.read(t, name) }
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
		hook := []string{"database-relation-changed", "JUJU_REMOTE_APP=shop", "JUJU_RELATION_ID=database:1"}
		if step.elected {
			hook = []string{"leader-elected"}
		}
		out, err := p.run(t, hook[0], hook[1:]...)
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

// A request that cannot be answered is refused, and holds up no other one: that for another's database, and that whose name
// would be SQL, also of a requirer in another namespace. A secret that was removed, as that of a relation which was restored
// after its end, is replaced.
func TestPostgreSQLRefusesWhatItCannotAnswer(t *testing.T) {
	for name, tc := range map[string]struct{ asks, refusal string }{
		"Another's": {"orders", "--code Taken --resolution ask for another name blocked database orders is another requirer's"},
		"SQL":       {`a'; ALTER ROLE "relation_1" SUPERUSER; --`, "--code InvalidName --resolution ask for one of letters, digits, _ and - blocked the name of the database is not valid"},
		"Lines":     {"a\nb", "--code InvalidName --resolution ask for one of letters, digits, _ and - blocked the name of the database is not valid"},
		"Long":      {strings.Repeat("a", 64), "--code InvalidName --resolution ask for one of at most 63 characters blocked the name of the database is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPostgreSQL(t)
			p.replace(t, map[string]string{
				"relation-list": `case "$2" in database:1) echo greedy ;; database:2) echo shop ;; esac`,
				"relation-get":  `if [ "$1" = ingress-address ]; then echo 198.18.1.1; else cat "$STATE/$JUJU_RELATION_ID.$3.$2" 2>/dev/null || true; fi`,
				"relation-set":  `shift; for pair in "$@"; do printf %s "${pair#*=}" >"$STATE/$JUJU_RELATION_ID.postgres.${pair%%=*}"; done`,
				"status-set":    `[ "$1" = -r ]; shift; echo "$*" >>"$STATE/statuses"`,
				"secret-ids":    `cat "$STATE/secrets"`,
				"secret-add":    `echo new >>"$STATE/secrets"; echo secret:new`,
				"secret-set":    `grep -qxF "${1#secret:}" "$STATE/secrets"`,
				"secret-grant":  `grep -qxF "${1#secret:}" "$STATE/secrets"`,
				"psql": `for last; do :; done
case "$last" in
*rolname*) echo "relation_${JUJU_RELATION_ID#*:}" ;;
*datdba*) echo relation_2 ;;
postgres) cat >>"$STATE/sql" ;;
esac`,
			})
			p.put(t, "secrets", "")
			p.put(t, "database:1.greedy.database", tc.asks)
			p.put(t, "database:2.shop.database", "orders")
			p.put(t, "database:2.postgres.password", "secret:removed")
			out, err := p.run(t, "leader-elected")
			require.NoError(t, err, out)
			assert.Equal(t, "database:1 "+tc.refusal+"\ndatabase:2 active\n", p.read(t, "statuses"))
			assert.NotContains(t, p.read(t, "sql"), "relation_1")
			assert.NoFileExists(t, filepath.Join(p.state, "database:1.postgres.database"))
			assert.Equal(t, "secret:new", p.read(t, "database:2.postgres.password"))
		})
	}
}
