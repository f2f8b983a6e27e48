package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/supervisor"
)

// maxNodes is how many nodes have an address.
const maxNodes = 9

// errNodes refuses a number of nodes.
var errNodes = errors.New("it must be 1 to 9, and more than 1 needs --form node")

// runFlags are what `run` and `up` share.
type runFlags struct {
	target
	form  string
	nodes int
}

func (f *runFlags) add(c *cobra.Command, name string) {
	f.flags(c, name)
	c.Flags().StringVar(&f.form, "form", string(state.ControlPlane), "control-plane (no root) or node (root; runs pods)")
	c.Flags().IntVar(&f.nodes, "nodes", 1, "how many nodes the form node has, at most 9")
}

func newRun() *cobra.Command {
	f, detached := &runFlags{}, false
	c := &cobra.Command{
		Use:   "run",
		Short: "Run a cluster in the foreground until standard input ends",
		Long: `run brings a cluster up and prints one line of JSON on standard output when it
is ready. It ends the cluster, completely, when standard input ends or at
SIGINT, SIGTERM, SIGHUP or SIGQUIT, so that a cluster cannot outlive the test
that holds the other end of the pipe. Progress goes to standard error.`,
		Example: `  sleep 600 | cluster run --form node
  mkfifo hold && cluster run --name mine <hold   # ends when hold is closed`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithCancel(c.Context())
			defer cancel()
			if !detached {
				go cancelAtEnd(c.InOrStdin(), cancel)
			}
			return f.run(ctx, c, detached)
		},
	}
	f.add(c, fmt.Sprintf("run-%d", os.Getpid()))
	c.Flags().BoolVar(&detached, "detached", false, "do not watch standard input")
	_ = c.Flags().MarkHidden("detached")
	return c
}

// cancelAtEnd calls cancel when the reader ends.
func cancelAtEnd(in io.Reader, cancel context.CancelFunc) {
	_, _ = io.Copy(io.Discard, in)
	cancel()
}

// run supervises a cluster until ctx ends.
func (f *runFlags) run(ctx context.Context, c *cobra.Command, detached bool) error {
	form, err := state.ParseForm(f.form)
	if err != nil {
		return err
	}
	if f.nodes < 1 || f.nodes > maxNodes || f.nodes > 1 && form != state.Node {
		return fmt.Errorf("cannot run a cluster of form %s with --nodes %d: %w", form, f.nodes, errNodes)
	}
	folder, err := f.folder()
	if err != nil {
		return err
	}
	beside, err := programs()
	if err != nil {
		return err
	}
	options := supervisor.Options{
		Name: f.name, Dir: folder, Form: form, Nodes: f.nodes, Programs: beside,
		Log: func(format string, args ...any) {
			fmt.Fprintf(c.ErrOrStderr(), "cluster %s: %s\n", f.name, fmt.Sprintf(format, args...))
		},
	}
	return supervisor.Run(ctx, options, func(info supervisor.Info) error {
		if err := json.NewEncoder(c.OutOrStdout()).Encode(info); err != nil {
			return fmt.Errorf("cannot report that the cluster is ready: %w", err)
		}
		if detached {
			return releaseOutput(folder)
		}
		return nil
	})
}

// releaseOutput sends later output to a log: whoever waits for the end of the
// output of `up` must not wait for the end of the cluster.
func releaseOutput(d state.Dir) error {
	file, err := os.OpenFile(d.Log("supervisor"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open log of the supervisor: %w", err)
	}
	defer func() { _ = file.Close() }()
	for _, output := range []*os.File{os.Stdout, os.Stderr} {
		if err := syscall.Dup3(int(file.Fd()), int(output.Fd()), 0); err != nil {
			return fmt.Errorf("cannot send output to the supervisor's log: %w", err)
		}
	}
	return nil
}
