package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

func newJobCancel() *cobra.Command {
	var o jobOptions
	c := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Stop a run; its state is kept all the same",
		Long: `job cancel stops a run: its program gets SIGTERM, has the grace of the JobWorkspace, then gets SIGKILL. What it
left as its state is kept. A run that has not started never starts. A cancel cannot be taken back.

It needs permission to patch JobRuns, which the cluster role edit has.

Exit codes: 0 the cancel is requested, or the run has ended, 2 the command failed.`,
		Example: "  orcon job cancel web-x7k2p -n shop",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			target, err := o.find(args[0])
			if err != nil {
				return err
			}
			return cancelRun(c, target)
		},
	}
	o.flags(c)
	c.ValidArgsFunction = o.complete("JobRun")
	return c
}

// cancelRun requests the end of a run.
func cancelRun(c *cobra.Command, target jobTarget) error {
	r, err := target.run(c)
	if err != nil {
		return err
	}
	if r.State != nil && r.State.End != nil {
		_, err = fmt.Fprintf(c.OutOrStdout(), "JobRun %s has ended: %s\n", target, r.State.End.Phase)
		return err
	}
	before := r.DeepCopy()
	r.Spec.Cancel = v1alpha1.CancelRequested
	if err := target.kinds.Patch(c.Context(), r, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("cannot cancel JobRun %s: %w", target, err)
	}
	shows := fmt.Sprintf("logs %s -n %s -f", target.name, target.namespace)
	if r.Status.Fence == 0 { // it has not started, and its JobWorkspace may not be there
		shows = "runs -n " + target.namespace
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "JobRun %s is being cancelled: orcon job %s shows its end\n", target, shows)
	return err
}
