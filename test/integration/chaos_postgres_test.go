package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// chaosPostgres is a PostgreSQL of many tenants. The handlers of the shipped example make and drop a database for each
// relation of the bank; tenants write rows and read them again.
type chaosPostgres struct {
	*chaosProcess
	// programs has PostgreSQL's programs, tools the hook tools, handlers those of the example.
	programs, tools, handlers, port string
	journal                         *chaos.Journal

	mu sync.Mutex
	// rows is how many rows of each role PostgreSQL has acknowledged.
	rows map[string]int
}

// newChaosPostgres starts a PostgreSQL if make chaos has named the folder of its programs; otherwise it returns nil.
func newChaosPostgres(t *testing.T, journal *chaos.Journal) *chaosPostgres {
	t.Helper()
	programs := os.Getenv("ORCON_POSTGRES")
	if programs == "" {
		return nil
	}
	root, err := controlplane.Root()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "chaos-postgres-") //nolint:usetesting // another user passes through it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	p := &chaosPostgres{
		programs: programs, tools: filepath.Join(dir, "tools"), handlers: filepath.Join(root, "deployment", "examples", "postgresql"),
		port: strconv.Itoa(controlplane.FreePort(t)), journal: journal, rows: map[string]int{},
	}
	p.installTools(t)
	p.startServer(t, filepath.Join(dir, "data"))
	return p
}

// installTools puts the hook tools into a folder.
func (p *chaosPostgres) installTools(t *testing.T) {
	t.Helper()
	require.NoError(t, os.Mkdir(p.tools, 0o755))
	binary := filepath.Join(p.tools, "hooktool")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./hooktool").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, name := range tool.Names() {
		require.NoError(t, os.Symlink(binary, filepath.Join(p.tools, name)))
	}
}

// startServer starts a server that trusts its superuser and asks tenants for their passwords.
func (p *chaosPostgres) startServer(t *testing.T, data string) {
	t.Helper()
	require.NoError(t, os.Chmod(filepath.Dir(data), 0o711))
	require.NoError(t, os.Mkdir(data, 0o700))
	user := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		const nobody = 65534
		require.NoError(t, os.Chown(data, nobody, nobody))
		user.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	initdb := exec.CommandContext(t.Context(), filepath.Join(p.programs, "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = user, filepath.Dir(data)
	out, err := initdb.CombinedOutput()
	require.NoError(t, err, string(out))
	access := "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
	require.NoError(t, os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(access), 0o600))
	p.chaosProcess = &chaosProcess{
		program: filepath.Join(p.programs, "postgres"), log: filepath.Join(filepath.Dir(data), "postgres.log"), user: user.Credential,
		args: []string{"-D", data, "-p", p.port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "jit=off"},
	}
	require.NoError(t, p.start())
	t.Cleanup(func() { p.finishBy(syscall.SIGQUIT) }) // SIGKILL would leave its shared memory
	controlplane.Eventually(t, func() bool {
		_, err := p.asks(t.Context(), chaosLogin{role: "postgres", database: "postgres"}, "SELECT 1")
		return err == nil
	}, soon, "PostgreSQL answers")
}

// relate does what a unit owes to a relation: a tenant asks for a database, and the bank makes it. It returns why it failed.
func (p *chaosPostgres) relate(ctx context.Context, a *chaosAgent, env map[string]string) (failure string) {
	if a.application == chaosBank {
		return p.run(ctx, a, "changed", env)
	}
	if leads, _ := a.tool(ctx, env, "is-leader"); leads != "True" {
		return ""
	}
	if _, ok := a.tool(ctx, env, "relation-set", "--app", "database="+a.application); !ok {
		return "the question was refused"
	}
	return ""
}

// elected does for each relation of a unit that leads now what the last leader may not have done.
func (p *chaosPostgres) elected(ctx context.Context, a *chaosAgent, env map[string]string) (failure string) {
	endpoint := "store"
	if a.application == chaosBank {
		endpoint = "main"
	}
	for _, id := range a.lines(ctx, "relation-ids", endpoint) {
		remote, ok := a.tool(ctx, nil, "relation-list", "-r", id, "--app")
		if !ok || remote == "" {
			continue // it is ending
		}
		of := maps.Clone(env)
		of[tool.RelationID], of[tool.RemoteApp] = id, remote
		if failure := p.relate(ctx, a, of); failure != "" {
			return failure
		}
	}
	return ""
}

// run runs the example's handler of an event, and returns why it failed.
func (p *chaosPostgres) run(ctx context.Context, a *chaosAgent, event string, env map[string]string) (failure string) {
	handler := exec.CommandContext(ctx, "sh", filepath.Join(p.handlers, "database-"+event+".sh"))
	handler.Env = []string{"PATH=" + p.tools + ":" + p.programs + ":" + os.Getenv("PATH"), "PGPORT=" + p.port, "ORCON_TEST_SOCKET=" + a.socket()}
	for name, value := range env {
		handler.Env = append(handler.Env, name+"="+value)
	}
	if out, err := handler.CombinedOutput(); err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return ""
}

// chaosLogin is what a tenant finds in its files, and the password that they refer to.
type chaosLogin struct{ role, password, database string }

// loginOf returns the login of a relation of a tenant's unit, if all of it is there.
func loginOf(ctx context.Context, a *chaosAgent, relation string) (chaosLogin, bool) {
	read := func(key string) string {
		text, _ := os.ReadFile(filepath.Join(a.root, "bindings", strings.Replace(relation, ":", "-", 1), key))
		return string(text)
	}
	password, ok := a.tool(ctx, nil, "secret-get", "--refresh", read("password"), "password")
	l := chaosLogin{read("username"), password, read("database")}
	return l, ok && l.role != "" && l.password != "" && l.database != ""
}

// asks runs a statement, and returns what it prints.
func (p *chaosPostgres) asks(ctx context.Context, l chaosLogin, statement string) (string, error) {
	psql := exec.CommandContext(ctx, filepath.Join(p.programs, "psql"), "-qtAX", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", p.port, "-U", l.role, "-d", l.database, "-c", statement)
	psql.Env = append(os.Environ(), "PGPASSWORD="+l.password, "PGCONNECT_TIMEOUT=10", "PGOPTIONS=-c client_min_messages=warning")
	out, err := psql.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// write writes the tenant's next row and counts all, and returns why it could not. Rows of another tenant are a fault, and
// so are rows that are gone: then the database was dropped.
func (p *chaosPostgres) write(ctx context.Context, a *chaosAgent, l chaosLogin) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.rows[l.role] + 1
	out, err := p.asks(ctx, l, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS written (tenant text, n int);
		INSERT INTO written VALUES ('%s', %d); SELECT tenant, count(DISTINCT n) FROM written GROUP BY tenant`, a.application, next))
	if err != nil {
		return fmt.Errorf("%s writes into %s as %s: %w: %s", a.application, l.database, l.role, err, out)
	}
	if want := fmt.Sprintf("%s|%d", a.application, next); out != want {
		p.journal.Fault("%s has the rows %q in %s, not %q", a.pod, out, l.database, want)
	}
	p.rows[l.role] = next
	return nil
}

// keepWriting writes a row into the database of each relation of a tenant's unit. It fails where a relation begins or ends.
func (p *chaosPostgres) keepWriting(ctx context.Context, a *chaosAgent) {
	for _, id := range a.lines(ctx, "relation-ids", "store") {
		if l, ok := loginOf(ctx, a, id); ok {
			_ = p.write(ctx, a, l)
		}
	}
}

// writeAll has each unit of a tenant write a row, and returns what is missing. The databases and roles are those of the
// living relations, and no others.
func (p *chaosPostgres) writeAll(ctx context.Context, agents []*chaosAgent) (missing string) {
	roles := map[string]bool{}
	for _, a := range agents {
		if a.application == chaosBank {
			continue
		}
		for _, id := range a.lines(ctx, "relation-ids", "store") {
			l, ok := loginOf(ctx, a, id)
			if !ok {
				return a.pod + " has no login"
			}
			roles[l.role] = true
			if err := p.write(ctx, a, l); err != nil {
				return err.Error()
			}
		}
	}
	want := strings.Join(slices.Sorted(maps.Keys(roles)), "\n")
	for _, statement := range []string{
		`SELECT rolname FROM pg_roles WHERE rolname LIKE 'relation_%' ORDER BY rolname COLLATE "C"`,
		`SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname LIKE '` + chaosTenant + `%' ORDER BY pg_get_userbyid(datdba) COLLATE "C"`,
	} {
		if got, err := p.asks(ctx, chaosLogin{role: "postgres", database: "postgres"}, statement); err != nil || got != want {
			return fmt.Sprintf("PostgreSQL has %q, the tenants %q: %v", got, want, err)
		}
	}
	return ""
}

// acknowledged returns how many rows PostgreSQL has acknowledged.
func (p *chaosPostgres) acknowledged() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := 0
	for _, n := range p.rows {
		all += n
	}
	return all
}
