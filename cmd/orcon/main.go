// Command orcon is for people's machines: it plays scenarios without a cluster, shows
// what the webhook does to a manifest, reads from a cluster what was said, and installs
// bundles there.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// version is set when the binary is built.
var version = "development"

// The exit codes.
const (
	exitFailed = 1 // what was asked for was done, and the answer is no
	exitMisuse = 2 // it could not be done
)

// The exit codes of the commands that change a cluster; what else failed is 2 there too.
const (
	exitTimeout  = 3
	exitConflict = 4
)

// codeError is an error with an exit code of its own.
type codeError struct {
	error

	code int
}

// Unwrap returns the error.
func (e codeError) Unwrap() error { return e.error }

// failedError is an answer that is no.
type failedError struct{ error }

// Unwrap returns the answer.
func (e failedError) Unwrap() error { return e.error }

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run carries out one command line and returns the exit code.
func run(args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.Execute()
	if err == nil {
		return 0
	}
	fmt.Fprintln(errs, "orcon:", err)
	if _, failed := errors.AsType[failedError](err); failed {
		return exitFailed
	}
	if coded, ok := errors.AsType[codeError](err); ok {
		return coded.code
	}
	return exitMisuse
}

func newRoot() *cobra.Command {
	c := &cobra.Command{
		Use:   "orcon",
		Short: "Relations between services and bundles on plain Kubernetes, from the command line",
		Long: `orcon is Orcon's command line. sim, inject, uninject and render need no cluster. The others
work on the one that kubectl would: plan shows what a bundle changes there, install does it,
and diff, history, rollback and uninstall look after it. approve, pause and resume are for
BundleDeployments, which a controller keeps. record shows what was said in a relation, check
whether Orcon works.

Exit codes: 0 done, 1 there is a difference (of diff, a scenario that went otherwise, a pod
that the webhook would refuse, a record that leads elsewhere, a cluster in which something
is wrong), 2 failed, 3 there was not enough time, 4 something of somebody else is in the way,
or a policy refuses.`,
		Example: `  orcon plan deploy/ --name shop -n shop
  orcon install deploy/ --name shop -n shop
  orcon history shop -n shop
  orcon render deploy/
  orcon sim shop.txtar
  orcon inject -f deployment.yaml | kubectl apply -f -
  orcon record 7 -n shop`,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	c.AddCommand(newCheck(), newSim(), newRecord(), newInject(), newUninject(), newRender(), newPlan(), newInstall(), newUninstall(), newHistory(), newDiff(), newRollback(), newApprove(), newPause(), newResume(), newVersion())
	return c
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  orcon version", Args: arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "orcon", version)
			return err
		},
	}
}
