// Package supervisor brings a cluster up, answers for it while it lives, and
// ends it on every way out. Its process is the parent of all components and
// holds all claims, so that its death ends the cluster.
//
// How a component is configured belongs to controlplane and node.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/controlplane"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/teardown"
)

// upTimeout bounds a start. It is far above what one takes, since a machine
// under test may be busy.
const upTimeout = 3 * time.Minute

// ErrUp says that the cluster exists already.
var ErrUp = errors.New("it is up already")

// errTooSlow says that a start took longer than upTimeout.
var errTooSlow = fmt.Errorf("not ready within %s", upTimeout)

// Options say which cluster to run.
type Options struct {
	Name string
	Dir  state.Dir
	Form state.Form
	// Nodes is how many there are in the form that has some.
	Nodes int
	// Programs is the folder of the kube and pause binaries.
	Programs string
	// Log gets one line a step.
	Log func(format string, args ...any)
}

// Supervisor runs one cluster.
type Supervisor struct {
	options Options
	group   *component.Group
	claims  []func() error
	started time.Time

	mu     sync.Mutex
	record state.Record
}

// Run brings a cluster up, calls ready, and ends the cluster when ctx ends or
// the start fails. When it returns, nothing of the cluster is left.
func Run(ctx context.Context, options Options, ready func(Info) error) (err error) {
	if err := clearCrashed(ctx, options); err != nil {
		return err
	}
	if err := options.Dir.Create(); err != nil {
		return err
	}
	s := &Supervisor{options: options, started: time.Now()}
	janitor, err := s.begin()
	// The end must come also when ctx is why it comes.
	defer func() { err = errors.Join(err, s.end(context.WithoutCancel(ctx), janitor)) }()
	if err != nil {
		return err
	}
	if err := s.up(ctx); err != nil {
		return err
	}
	stop, err := s.serveControl()
	if err != nil {
		return err
	}
	defer stop()
	if err := ready(s.info()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// clearCrashed removes what a crashed cluster of the same folder left.
func clearCrashed(ctx context.Context, options Options) error {
	old, err := state.Load(options.Dir)
	switch {
	case errors.Is(err, state.ErrNoCluster):
		return nil
	case err != nil:
		return err
	case old.Supervisor.Alive():
		return fmt.Errorf("cannot bring up cluster %q: %w (supervisor %d, folder %s); use `cluster down` first or another --name",
			options.Name, ErrUp, old.Supervisor.PID, options.Dir)
	}
	options.Log("removing what a crashed cluster left in %s", options.Dir)
	return teardown.End(ctx, options.Dir)
}

// begin writes the first record, from which all that follows can be ended, and
// starts the janitor.
func (s *Supervisor) begin() (*janitor, error) {
	self, err := findSelf()
	if err != nil {
		return nil, err
	}
	s.record = state.Record{
		Name: s.options.Name, Dir: s.options.Dir, Form: s.options.Form, Supervisor: self,
		HostAddress: "127.0.0.1", Components: map[string]state.Process{},
	}
	if err := s.record.Save(); err != nil {
		return nil, err
	}
	s.group = component.NewGroup(s.options.Dir, s.setComponents)
	return startJanitor(s.record)
}

// up starts all components and returns when the cluster is ready.
func (s *Supervisor) up(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, upTimeout, errTooSlow)
	defer cancel()
	if err := linkPrograms(s.options); err != nil {
		return err
	}
	start := s.upControlPlane
	if s.options.Form == state.Node {
		start = s.upNode
	}
	if err := start(ctx); err != nil {
		return fmt.Errorf("cannot bring up cluster %q: %w", s.options.Name, err)
	}
	s.group.KeepRunning()
	s.update(func(r *state.Record) { r.Ready = true })
	s.step("ready")
	return nil
}

// upControlPlane runs the form that needs neither root nor a node.
func (s *Supervisor) upControlPlane(ctx context.Context) error {
	ports, claim, err := controlplane.ClaimPorts()
	if err != nil {
		return err
	}
	s.claims = append(s.claims, claim.Close)
	launcher, err := component.NewLauncher()
	if err != nil {
		return err
	}
	s.group.SetLauncher(launcher)
	plan := controlplane.Plan{
		Dir: s.options.Dir, Name: s.options.Name, Ports: ports,
		Bind: "127.0.0.1", Reach: "127.0.0.1",
	}
	return s.startControlPlane(ctx, plan, nil)
}

// startControlPlane starts the store and the API server, then, once that one
// answers, all that talks to it, with more if the cluster has a node.
func (s *Supervisor) startControlPlane(ctx context.Context, plan controlplane.Plan, more func(controlplane.Files) error) error {
	files, err := plan.Prepare()
	if err != nil {
		return err
	}
	s.update(func(r *state.Record) { r.APIServer = plan.URL() })
	specs := plan.Specs(files.Admin)
	if err := s.group.Add(specs[:2]...); err != nil {
		return err
	}
	s.step("starting etcd and API server")
	if err := s.group.WaitHealthy(ctx, controlplane.Etcd, controlplane.APIServer); err != nil {
		return err
	}
	s.step("API server answers at %s", plan.URL())
	if err := s.group.Add(specs[2:]...); err != nil {
		return err
	}
	if more != nil {
		if err := more(files); err != nil {
			return err
		}
	}
	if err := s.group.WaitHealthy(ctx, controlplane.ControllerManager, controlplane.Scheduler); err != nil {
		return err
	}
	return controlplane.WaitUsable(ctx, files.Admin)
}

// end ends the cluster, gives claims back and dismisses the janitor.
func (s *Supervisor) end(ctx context.Context, janitor *janitor) error {
	s.step("ending")
	failed := []error{}
	if s.group != nil {
		failed = append(failed, s.group.KillAll(ctx))
	}
	failed = append(failed, teardown.End(ctx, s.options.Dir))
	for _, release := range s.claims {
		failed = append(failed, release())
	}
	janitor.dismiss()
	s.step("ended")
	return errors.Join(failed...)
}

func (s *Supervisor) setComponents(running map[string]state.Process) {
	s.update(func(r *state.Record) { r.Components = running })
}

// update changes the record and saves it. A record that cannot be saved, for
// instance since the folder is being removed, costs only what a crash needs.
func (s *Supervisor) update(change func(*state.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.record)
	_ = s.record.Save()
}

func (s *Supervisor) step(format string, args ...any) {
	s.options.Log("%5.1fs  %s", time.Since(s.started).Seconds(), fmt.Sprintf(format, args...))
}
