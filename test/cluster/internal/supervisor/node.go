package supervisor

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/controlplane"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/image"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/namespace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/node"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/rest"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

// nodePorts are the usual ones: a node has a network of its own.
var nodePorts = controlplane.Ports{ //nolint:gochecknoglobals // a constant
	EtcdClient: 2379, EtcdPeer: 2380, APIServer: 6443, ControllerManager: 10257, Scheduler: 10259,
}

// upNode runs the form that has a node, all in namespaces of its own.
func (s *Supervisor) upNode(ctx context.Context) error {
	if err := namespace.CheckDir(s.options.Dir); err != nil {
		return err
	}
	if err := node.EnsureHost(s.options.Log, os.Stderr); err != nil {
		return err
	}
	cable, inside, err := s.enterNode()
	if err != nil {
		return err
	}
	dial := dialIn(inside)
	plan := controlplane.Plan{
		Dir: s.options.Dir, Name: s.options.Name, Ports: nodePorts, Dial: dial,
		Bind: "0.0.0.0", Advertise: node.Address, Reach: cable.Node,
	}
	worker := node.Plan{
		Dir: s.options.Dir, Name: s.options.Name, Number: 1, APIServer: plan.URL(), Dial: dial,
	}
	images, err := s.startContainerd(ctx, worker)
	if err != nil {
		return err
	}
	more := func(files controlplane.Files) error {
		if err := node.CreateDNS(ctx, files.Admin); err != nil {
			return err
		}
		if err := s.startNode(ctx, worker, files, images); err != nil {
			return err
		}
		for n := 2; n <= s.options.Nodes; n++ {
			worker.Number = n
			if err := s.join(ctx, worker, cable, inside, files); err != nil {
				return fmt.Errorf("cannot add node %s: %w", worker.Host(), err)
			}
		}
		return nil
	}
	return s.startControlPlane(ctx, plan, more)
}

// enterNode makes the namespaces, their cable to the host, and the launcher
// that starts components inside.
func (s *Supervisor) enterNode() (node.Cable, *component.Launcher, error) {
	cable, claim, err := node.ClaimCable()
	if err != nil {
		return node.Cable{}, nil, err
	}
	s.claims = append(s.claims, claim.Close)
	s.update(func(r *state.Record) { r.HostAddress = cable.Host })
	init, launcher, err := s.startNamespaces(1)
	if err != nil {
		return node.Cable{}, nil, err
	}
	return cable, launcher, node.Connect(s.options.Dir, cable, init, launcher)
}

// startNamespaces makes the namespaces of a node, to which components go that are added later.
func (s *Supervisor) startNamespaces(n int) (state.Process, *component.Launcher, error) {
	init, err := namespace.Start(s.options.Dir.Node(n), namespace.Host(n))
	if err != nil {
		return state.Process{}, nil, err
	}
	s.update(func(r *state.Record) { r.Nodes = append(r.Nodes, init) })
	launcher, err := component.NewLauncherIn(func() error { return namespace.Enter(init.PID) })
	if err != nil {
		return state.Process{}, nil, err
	}
	s.group.SetLauncher(launcher)
	s.step("namespaces of process %d", init.PID)
	return init, launcher, nil
}

// join starts a further node, which reaches all else by the first.
func (s *Supervisor) join(ctx context.Context, worker node.Plan, cable node.Cable, inFirst *component.Launcher, files controlplane.Files) error {
	if err := s.options.Dir.Node(worker.Number).Create(); err != nil {
		return err
	}
	init, inside, err := s.startNamespaces(worker.Number)
	if err != nil {
		return err
	}
	if err := worker.Join(cable, s.record.Nodes[0], init, inFirst, inside); err != nil {
		return err
	}
	worker.Dial = dialIn(inside)
	images, err := s.startContainerd(ctx, worker)
	if err != nil {
		return err
	}
	return s.startNode(ctx, worker, files, images)
}

// startContainerd starts containerd and loads the sandbox image while the
// control plane starts; images gives the outcome.
func (s *Supervisor) startContainerd(ctx context.Context, worker node.Plan) (images <-chan error, err error) {
	if err := worker.PrepareContainerd(); err != nil {
		return nil, err
	}
	containerd, err := worker.Containerd()
	if err != nil {
		return nil, err
	}
	if err := s.group.Add(containerd); err != nil {
		return nil, err
	}
	outcome := make(chan error, 1)
	go func() { outcome <- s.loadPause(ctx, worker) }()
	return outcome, nil
}

func (s *Supervisor) loadPause(ctx context.Context, worker node.Plan) error {
	folder := s.options.Dir.Node(worker.Number)
	file := folder.Path("pause.tar")
	if err := image.Write(file, node.PauseImage(filepath.Join(s.options.Programs, "pause"))); err != nil {
		return err
	}
	if err := s.group.WaitHealthy(ctx, worker.Component(node.Containerd)); err != nil {
		return err
	}
	_, err := node.LoadImage(ctx, folder, file)
	return err
}

// startNode starts what talks to the API server and waits until pods can run.
func (s *Supervisor) startNode(ctx context.Context, worker node.Plan, files controlplane.Files, images <-chan error) error {
	if err := worker.Prepare(files.Authority); err != nil {
		return err
	}
	if err := <-images; err != nil {
		return err
	}
	specs := worker.Specs()
	if err := s.group.Add(specs...); err != nil {
		return err
	}
	s.step("starting what node %s needs", worker.Host())
	for _, spec := range specs {
		if err := s.group.WaitHealthy(ctx, spec.Name); err != nil {
			return err
		}
	}
	return worker.WaitReady(ctx, files.Admin)
}

// dialIn opens connections from the node's network: a socket belongs to the
// network of the thread that makes it.
func dialIn(inside *component.Launcher) rest.Dial {
	return func(ctx context.Context, network, address string) (connection net.Conn, err error) {
		err = inside.Do(func() error {
			connection, err = (&net.Dialer{}).DialContext(ctx, network, address)
			return err
		})
		return connection, err
	}
}
