// Command cluster runs a real Kubernetes on this machine for tests: etcd, API
// server, controller manager and scheduler, and in its node form containerd,
// kubelet, kube-proxy and DNS in namespaces of their own.
//
// It knows nothing of Orcon, which is installed into it like into any cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// cannotRun is the exit code of a command that failed before it did its work.
const cannotRun = 1

func main() {
	ctx, stop := signal.NotifyContext(context.Background(),
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	// A closed pipe must be an error of a write, not the end of the supervisor;
	// unlike ignoring the signal, this is not inherited by the components.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	err := newRoot().ExecuteContext(ctx)
	os.Exit(exitCode(err))
}

// exitCode passes on the code of a command run inside the cluster.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return max(exit.ExitCode(), cannotRun)
	default:
		fmt.Fprintln(os.Stderr, "cluster:", err)
		return cannotRun
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster",
		Short: "A real Kubernetes on this machine, for tests",
		Long: `cluster runs a real Kubernetes on this machine, for tests.

Form control-plane: etcd, API server, controller manager and scheduler on
loopback; needs no root. Form node: also containerd, kubelet, kube-proxy and DNS,
in network, mount and process namespaces of their own; needs root.

Nothing is kept: "down" removes every process, mount, link, cgroup and file.`,
		Example: `  cluster up --form node
  cluster load myimage.tar
  cluster exec -- kubectl get pods -A
  cluster kill kube-apiserver && cluster start kube-apiserver
  cluster down`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newUp(), newRun(), newDown(), newStatus(), newKubeconfig(), newExec(), newLoad(), newLogs(),
		newControl("stop", "Ask a component to end (SIGTERM) and wait until it has"),
		newControl("kill", "End a component at once (SIGKILL)"),
		newControl("start", "Run a stopped component again, with the same arguments, and wait until it is healthy"),
		newJanitor(), newInit(),
	)
	return root
}
