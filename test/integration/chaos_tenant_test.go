package integration

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	podagent "gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// The bank has data for each tenant; both are applications with handlers.
const (
	chaosBank   = "bank"
	chaosTenant = "tenant-"
)

// pace is the pause of a unit between two rounds of writes or of reads. Each command is a process, and other tests
// need the machine too.
const pace = 500 * time.Millisecond

// chaosUsers are the handlers, writers and readers of all pods.
type chaosUsers struct {
	journal *chaos.Journal
	// postgres is where the bank keeps the data of its tenants; nil for nowhere.
	postgres *chaosPostgres
	// bank is held by the unit of the bank that writes: a register has one writer.
	bank sync.Mutex
	// pause is held while nothing else is written.
	pause sync.RWMutex
}

// use runs what a pod does until ctx ends.
func (u *chaosUsers) use(ctx context.Context, a *chaosAgent) {
	done := make(chan struct{}, 3)
	for _, part := range []func(context.Context, *chaosAgent){u.handle, u.write, u.read} {
		go func() {
			part(ctx, a)
			done <- struct{}{}
		}()
	}
	for range cap(done) {
		<-done
	}
}

// handle is the runner of the pod's handlers.
func (u *chaosUsers) handle(ctx context.Context, a *chaosAgent) {
	runner := podagent.Runner{Socket: a.socket()}
	for turn, ok := runner.Next(ctx); ok; turn, ok = runner.Next(ctx) {
		failure := u.handler(ctx, a, turn)
		_ = runner.Done(ctx, podagent.Done{Context: turn.Context, Handled: true, Failure: failure}) // else it comes again
	}
}

// handler handles one event, and returns why it failed.
func (u *chaosUsers) handler(ctx context.Context, a *chaosAgent, turn podagent.Turn) (failure string) {
	relation := turn.Env[tool.RelationUID]
	remote, _, _ := strings.Cut(turn.Env[tool.RemoteApp], ".")
	unit := turn.Env["JUJU_UNIT_NAME"]
	a.mu.Lock()
	a.unit = unit
	a.mu.Unlock()
	switch _, event, _ := strings.Cut(turn.Hook, "-relation-"); {
	case relation == "" && u.postgres != nil:
		return u.postgres.elected(ctx, a, turn.Env)
	case relation == "":
		return ""
	case event == "broken" && turn.Env["ORCON_FINAL"] == "true":
		u.journal.Broken(a.application, unit, relation)
		if u.postgres != nil && a.application == chaosBank {
			return u.postgres.run(ctx, a, event, turn.Env)
		}
		return ""
	case event != "created" && event != "joined" && event != "changed":
		return ""
	}
	u.journal.Told(a.application, unit, relation)
	if u.postgres != nil {
		return u.postgres.relate(ctx, a, turn.Env)
	}
	leads, ok := a.tool(ctx, turn.Env, "is-leader")
	if !ok {
		return "it is not known who leads"
	}
	if a.application != chaosBank || leads != "True" {
		return ""
	}
	if _, ok := a.tool(ctx, turn.Env, "relation-set", "--app", "username="+remote); !ok {
		return "the answer was refused"
	}
	return ""
}

// write writes into each relation of the unit, again and again.
func (u *chaosUsers) write(ctx context.Context, a *chaosAgent) {
	for ctx.Err() == nil {
		for name, write := range u.writers(ctx, a) {
			u.pause.RLock()
			u.once(a, name, write)
			u.pause.RUnlock()
		}
		if u.postgres != nil && a.application != chaosBank {
			u.postgres.keepWriting(ctx, a)
		}
		wait(ctx, pace)
	}
}

// once writes the next value of a register, and reports whether that was acknowledged.
func (u *chaosUsers) once(a *chaosAgent, name string, write func(value string) bool) bool {
	if a.application == chaosBank {
		u.bank.Lock() // one writer a register, whichever unit leads
		defer u.bank.Unlock()
	}
	if !write(u.journal.Attempt(name)) {
		return false
	}
	u.journal.Acknowledged(name)
	return true
}

// writers returns for each register of the unit how it is written.
func (u *chaosUsers) writers(ctx context.Context, a *chaosAgent) map[string]func(value string) bool {
	all := map[string]func(string) bool{}
	set := func(args ...string) func(string) bool {
		return func(value string) bool {
			_, ok := a.tool(ctx, nil, "relation-set", append(args, "n="+value)...)
			return ok
		}
	}
	switch unit := a.name(); {
	case unit == "":
	case a.application != chaosBank:
		for _, id := range a.lines(ctx, "relation-ids", "store") {
			all[a.application+"|"+unit+"|"+id] = set("-r", id)
		}
	default:
		if leads, _ := a.tool(ctx, nil, "is-leader"); leads != "True" {
			return nil
		}
		for id, tenant := range u.tenants(ctx, a) {
			all[tenant+"|"+chaosBank+"|"+id] = set("-r", id, "--app")
		}
	}
	return all
}

// tenants returns the applications in the relations of a unit of the bank, by id.
func (u *chaosUsers) tenants(ctx context.Context, a *chaosAgent) map[string]string {
	all := map[string]string{}
	for _, id := range a.lines(ctx, "relation-ids", "main") {
		if tenant, ok := a.tool(ctx, nil, "relation-list", "-r", id, "--app"); ok && tenant != "" {
			all[id], _, _ = strings.Cut(tenant, ".") // without its namespace
		}
	}
	return all
}

// read reads all that the unit may, again and again.
func (u *chaosUsers) read(ctx context.Context, a *chaosAgent) {
	for ctx.Err() == nil {
		u.reads(ctx, a)
		wait(ctx, pace)
	}
}

// reads reads all that the unit may, once, and returns the values by place.
func (u *chaosUsers) reads(ctx context.Context, a *chaosAgent) map[string]string {
	all := map[string]string{}
	note := func(place, tenant, value string) {
		if value != "" && ctx.Err() == nil {
			u.journal.Read(a.pod+" "+place, value, tenant+"|")
			all[place] = value
		}
	}
	if a.application == chaosBank {
		for id, tenant := range u.tenants(ctx, a) {
			for _, unit := range a.lines(ctx, "relation-list", "-r", id) {
				value, _ := a.tool(ctx, nil, "relation-get", "-r", id, "n", unit)
				note(id+" "+unit, tenant, value)
			}
		}
		return all
	}
	for _, id := range a.lines(ctx, "relation-ids", "store") {
		value, _ := a.tool(ctx, nil, "relation-get", "-r", id, "--app", "n", chaosBank)
		note(id, a.application, value)
		username, _ := a.tool(ctx, nil, "relation-get", "-r", id, "--app", "username", chaosBank)
		if u.postgres == nil && username != "" && username != a.application {
			u.journal.Fault("%s read the user %q", a.application, username)
		}
		file, _ := os.ReadFile(filepath.Join(a.root, "bindings", strings.Replace(id, ":", "-", 1), "n"))
		note(id+" file", a.application, string(file))
	}
	return all
}

// readable reports whether a unit reads the register: the bank those that tenants write, a tenant those that the bank
// writes for it.
func readable(a *chaosAgent, register string) bool {
	tenant, rest, _ := strings.Cut(register, "|")
	writer, _, _ := strings.Cut(rest, "|")
	return (a.application == chaosBank) == (writer != chaosBank) && (a.application == chaosBank || a.application == tenant)
}

// registerOf returns the name of the register in a value.
func registerOf(value string) string {
	name, _, _ := strings.Cut(value, "#")
	return name
}
