package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/namespace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/node"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

// errNoNode says that a cluster has nothing that runs containers.
var errNoNode = errors.New("it has no node; bring it up with --form node")

func newExec() *cobra.Command {
	t := &target{}
	c := &cobra.Command{
		Use:   "exec [--name NAME] -- COMMAND [ARGUMENT…]",
		Short: "Run a command inside the cluster, with KUBECONFIG and kubectl",
		Long: `exec runs a command with KUBECONFIG and PATH (kubectl) set and exits with its exit
code. With a node, the command runs in the first node's network, mount, process and
host-name namespaces: it reaches addresses of pods and Services and resolves
their names. It sees the host's files, but /run, /var/lib and /var/log are the
node's own.`,
		Example: `  cluster exec -- kubectl get pods -A
  cluster exec --name second -- curl http://blog.default.svc:8080`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := t.live()
			if err != nil {
				return err
			}
			return execute(c.Context(), r, args)
		},
	}
	c.Flags().SetInterspersed(false)
	t.flags(c, defaultName)
	return c
}

// execute runs a command in the cluster's namespaces and waits for its end. A
// signal that would end this process goes to the command instead.
func execute(ctx context.Context, r state.Record, args []string) error {
	environment := environ(r)
	if err := os.Setenv("PATH", r.Dir.Programs()+":"+os.Getenv("PATH")); err != nil {
		return fmt.Errorf("cannot set PATH: %w", err)
	}
	launcher, err := enter(r)
	if err != nil {
		return err
	}
	command := exec.Command(args[0], args[1:]...)
	command.Env = environment
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Dir, err = os.Getwd()
	if err != nil {
		return fmt.Errorf("cannot find working directory: %w", err)
	}
	if err := launcher.Start(command); err != nil {
		return fmt.Errorf("cannot run %q: %w", args[0], err)
	}
	defer context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) })()
	return command.Wait()
}

// enter returns a launcher inside the cluster.
func enter(r state.Record) (*component.Launcher, error) {
	if r.Form != state.Node {
		return component.NewLauncher()
	}
	return component.NewLauncherIn(func() error { return namespace.Enter(r.Nodes[0].PID) })
}

func newLoad() *cobra.Command {
	t := &target{}
	c := &cobra.Command{
		Use:   "load FILE…",
		Short: "Load images into the nodes, for pods to use without pulling",
		Long: `load imports image archives, OCI or docker, into the containerd of each node. A pod names
the image as the archive does, for instance localhost/agent:dev, and must not
have imagePullPolicy: Always. Nodes pull only from registries of the host that
their folder registries names.`,
		Example: `  cluster load agent.tar controller.tar`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := t.live()
			if err != nil {
				return err
			}
			if r.Form != state.Node {
				return fmt.Errorf("cannot load images into cluster %q: %w", t.name, errNoNode)
			}
			return load(c, r, args)
		},
	}
	t.flags(c, defaultName)
	return c
}

// load imports image archives into each node.
func load(c *cobra.Command, r state.Record, files []string) error {
	for n := range r.Nodes {
		for _, file := range files {
			said, err := node.LoadImage(c.Context(), r.Dir.Node(n+1), file)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.OutOrStdout(), said)
		}
	}
	return nil
}

// newInit is how the supervisor starts process 1 of a node.
func newInit() *cobra.Command {
	return &cobra.Command{
		Use:    namespace.InitCommand + " DIR HOST",
		Short:  "Be process 1 of a node (for internal use)",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if os.Getpid() != 1 {
				return fmt.Errorf("cannot be process 1 of a node: %w", errors.ErrUnsupported)
			}
			return namespace.Init(c.Context(), state.Dir(args[0]), args[1])
		},
	}
}
