package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/golang/glog"
	"github.com/moby/moby/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/dockerjob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/jobsapi"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// machine is the agent of a RunNode, and its flags.
type machine struct {
	folder, secrets, engine, join string
	limits                        dockerjob.Limits
	// renew is the time between renewals of a run, longest the longest pause before a call is repeated.
	renew, longest time.Duration
	connection     *agent.Connection
}

// runAgent carries out what is offered to this machine until it is terminated, by a user with a uid. What runs then goes on,
// and is adopted by the next agent.
func runAgent(ctx context.Context, user int, args []string, out io.Writer) (int, error) {
	m := &machine{limits: dockerjob.DefaultLimits(), connection: &agent.Connection{Clock: time.Now, Proxy: http.ProxyFromEnvironment}}
	flags := flagsOf("agent", "", out)
	m.define(flags)
	if err := flags.Parse(args); err != nil {
		return misused(err)
	}
	if flags.NArg() > 0 {
		return contract.Misused, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if user == 0 {
		return contract.Refused, fmt.Errorf("the agent cannot begin: it is started as root, and runs, by uid %d, cannot use what it makes: "+
			"start it by uid %[1]d, to which folder %s has to belong", contract.User, m.folder)
	}
	terminated, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := m.run(terminated); err != nil {
		return contract.Refused, err
	}
	return contract.Success, nil
}

// define defines the flags.
func (m *machine) define(flags *flag.FlagSet) {
	flags.StringVar(&m.folder, "folder", "/var/lib/orcon", "`folder` of the identity and of runs, by its path on the engine's machine")
	flags.StringVar(&m.secrets, "secrets", "/dev/shm/orcon", "`folder` in memory for secrets of runs, by its path on the engine's machine")
	flags.StringVar(&m.engine, "engine", "unix:///var/run/docker.sock", "`address` of the Docker engine, which is on this machine")
	flags.StringVar(&m.join, "join", "", "`file` with the token that orcon job node join printed; only before this machine has joined")
	flags.Int64Var(&m.limits.Memory, "memory", m.limits.Memory, "`bytes` of memory that a run may have; 0 for no limit")
	flags.Int64Var(&m.limits.Processes, "processes", m.limits.Processes, "`number` of threads that a run may have; 0 for no limit")
	flags.DurationVar(&m.renew, "renew", 10*time.Second, "`time` between renewals of a run")
	flags.DurationVar(&m.longest, "retry", 10*time.Second, "longest `time` before a call is repeated that failed")
}

// run joins and carries out runs.
func (m *machine) run(ctx context.Context) error {
	runs, program := filepath.Join(m.folder, "runs"), filepath.Join(m.folder, "job-runner")
	if err := os.MkdirAll(runs, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of runs: %w: let folder %s belong to uid %d, by which agent and runs work",
			err, m.folder, contract.User)
	}
	if err := inMemory(m.secrets); err != nil {
		return fmt.Errorf("cannot use folder %s for secrets: %w", m.secrets, err)
	}
	from := readable
	if _, err := os.Stat(from); err != nil {
		from = "/proc/self/exe"
	}
	if err := install(from, program); err != nil {
		return fmt.Errorf("cannot install the runner: %w", err)
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	docker, err := client.New(client.WithHost(m.engine))
	if err != nil {
		return fmt.Errorf("cannot use the Docker engine at %s: %w", m.engine, err)
	}
	defer docker.Close() //nolint:errcheck // it ends with the process
	carried, end := context.WithCancel(ctx)
	defer end()
	e, err := dockerjob.Open(carried, dockerjob.Settings{
		Client: docker, Folder: runs, Program: program, Secrets: m.secrets, Node: m.connection.Identity().Node, Limits: m.limits, Keep: m.keep,
	})
	if err != nil {
		return err
	}
	tests, err := m.newTests(carried, docker, program)
	if err != nil {
		return err
	}
	tests.begin(carried)
	err = (&agent.Agent{Connection: m.connection, Executor: e, Proof: tests.Proof, Clock: time.Now, Longest: m.longest}).Run(ctx)
	end()
	e.Wait()
	tests.wait()
	return err
}

// enter has the connection use the identity of this machine, which joins first if it has not. One whose token is refused
// waits for another token.
func (m *machine) enter(ctx context.Context) error {
	retries, refused := agent.Retries{Longest: m.longest}, false
	for shown := ""; ; {
		err := m.attempt(ctx, &shown)
		refused = refused || agent.Refused(err)
		if err == nil || !refused || ctx.Err() != nil {
			return err
		}
		retries.Wait(ctx, err)
	}
}

// attempt has the connection use the identity of this machine, and logs its key if that is not shown yet.
func (m *machine) attempt(ctx context.Context, shown *string) error {
	file := filepath.Join(m.folder, "identity.json")
	i, err := agent.Load(file)
	if err != nil {
		return err
	}
	var by node.Invitation
	if !i.Joined() {
		if by, err = m.invitation(); err != nil {
			return err
		}
		if i, err = i.Invited(file, by); err != nil {
			return err
		}
	}
	key, err := i.Fingerprint()
	if err != nil {
		return err
	}
	if key != *shown {
		*shown = key
		glog.Infof("the agent of RunNode %s has key %s", i.Node, key)
	}
	return agent.Join(ctx, m.connection, i, by, m.longest)
}

// invitation reads the token.
func (m *machine) invitation() (node.Invitation, error) {
	if m.join == "" {
		return node.Invitation{}, errors.New("this machine has not joined: use --join FILE with the token that orcon job node join prints")
	}
	const put = "put the token that orcon job node join prints into it"
	text, err := os.ReadFile(filepath.Clean(m.join))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return node.Invitation{}, fmt.Errorf("this machine has not joined, and there is no file %s: %s", m.join, put)
	case err != nil:
		return node.Invitation{}, fmt.Errorf("cannot read the token: %w", err)
	case len(bytes.TrimSpace(text)) == 0:
		return node.Invitation{}, fmt.Errorf("cannot use %s: the file is empty: %s", m.join, put)
	}
	by, err := node.ParseInvitation(string(text))
	if err != nil {
		return by, fmt.Errorf("cannot use %s: %w", m.join, err)
	}
	return by, nil
}

// keep keeps the state of an attempt.
func (m *machine) keep(ctx context.Context, a executor.Attempt, f dockerjob.Mounts, terminate <-chan struct{}) error {
	k, err := m.keeper(a, f)
	if err != nil {
		return err
	}
	k.Terminate = terminate
	spool := &jobsapi.Spool{
		Below: m.connection, Address: m.connection.Identity().Address, Folder: f.Spool(), Patience: a.Timing.Lost, Clock: keeper.BootTime,
		Recipient: func() string { return m.connection.Identity().Recipient },
		Stopped: func() bool {
			ended, err := exchange.Reported(f.Exchange())
			return err == nil && ended
		},
	}
	k.client.HTTP = &http.Client{Transport: spool}
	if !spool.Ended() {
		err = k.Run(ctx)
	}
	if spool.Empty() {
		return err
	}
	if spool.Ended() {
		glog.Warningf("what Run %s/%s has left waits for the controller, encrypted", a.Namespace, a.Run)
		err = errors.Join(err, f.Clear())
		holding, release := context.WithCancel(ctx)
		defer release()
		go m.hold(holding, k, a.Fence)
	}
	retries := agent.Retries{Longest: m.longest}
	return errors.Join(err, spool.Deliver(ctx, func(_ int, err error) { retries.Wait(ctx, err) }))
}

// hold renews the hold of a run whose end is on its way, which may take longer than a run may be silent.
func (m *machine) hold(ctx context.Context, k *keeping, fence int64) {
	for ctx.Err() == nil {
		// An error is that of the delivery too.
		_, _ = k.client.Renew(ctx, keeper.Holder{Claimant: k.Claimant, Fence: fence}, job.Delay{Why: "its node has kept it, and sends it"})
		select {
		case <-ctx.Done():
		case <-time.After(m.renew):
		}
	}
}

// keeper returns the keeper of an attempt, by the command line that it would have in a pod.
func (m *machine) keeper(a executor.Attempt, f dockerjob.Mounts) (*keeping, error) {
	i := m.connection.Identity()
	k, err := parseKeeper(append([]string{
		"--run=" + a.UID, fmt.Sprintf("--attempt=%d", a.Number), "--place=" + i.Node, "--address=" + i.Address, "--token=",
		"--exchange=" + string(f.Exchange()), "--state=" + f.State(), "--logs=" + f.Logs(), "--work=" + f.Work(), "--secrets=" + f.Secrets(),
		"--scratch=" + f.Scratch(), "--backend=" + dockerjob.Backend, "--renew=" + m.renew.String(), "--retry=" + m.longest.String(),
	}, a.KeeperArguments()...), io.Discard)
	if err != nil {
		return nil, err
	}
	k.Settings.Forwarded = true
	if len(a.Input.Secrets) > 0 {
		k.Secrets = agent.SealedSecrets{Connection: m.connection, Run: a.UID, Sealed: k.client.Secrets}
	}
	return k, nil
}
