package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/supervisor"
)

// errNotUp says that the supervisor ended before the cluster was ready.
var errNotUp = errors.New("the messages above say why")

func newUp() *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "up",
		Short: "Bring a cluster up in the background",
		Long: `up brings a cluster up and returns when it is ready. It stays up until
"cluster down". Several clusters can be up beside each other by --name.

The node form needs root and a few Debian packages (containerd, crun,
containernetworking-plugins, iptables, iproute2, conntrack), which it installs if
they are missing. What a crashed cluster of the same name left is removed first.`,
		Example: `  cluster up
  cluster up --name second --form node
  cluster up --name third --form node --nodes 2`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.up(c) },
	}
	f.add(c, defaultName)
	return c
}

// up starts a supervisor in a session of its own and waits for its report.
func (f *runFlags) up(c *cobra.Command) error {
	info, err := f.detach(c.Context())
	if err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "cluster %s is ready: API server %s\nexport KUBECONFIG=%s PATH=%s:$PATH\n",
		info.Name, info.APIServer, info.Kubeconfig, info.Programs)
	return nil
}

func (f *runFlags) detach(ctx context.Context) (supervisor.Info, error) {
	self, err := os.Executable()
	if err != nil {
		return supervisor.Info{}, fmt.Errorf("cannot find own program: %w", err)
	}
	command := exec.Command(self, "run", "--detached", "--name", f.name, "--dir", f.dir, "--form", f.form, "--nodes", strconv.Itoa(f.nodes))
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := command.StdoutPipe()
	if err != nil {
		return supervisor.Info{}, fmt.Errorf("cannot start supervisor: %w", err)
	}
	if err := command.Start(); err != nil {
		return supervisor.Info{}, fmt.Errorf("cannot start supervisor: %w", err)
	}
	// An interrupted `up` must not leave a cluster behind.
	stop := context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || !stop() {
		_ = command.Wait()
		return supervisor.Info{}, fmt.Errorf("cannot bring up cluster %q: %w", f.name, errNotUp)
	}
	info := supervisor.Info{}
	if err := json.Unmarshal(line, &info); err != nil {
		return supervisor.Info{}, fmt.Errorf("cannot read report of the supervisor: %w", err)
	}
	return info, nil
}
