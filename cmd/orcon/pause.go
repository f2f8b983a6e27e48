package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newPause() *cobra.Command {
	return pausing("pause", true, "Stop a BundleDeployment where it is",
		`pause has the controller write nothing for a deployment until orcon resume: a revision that
is under way stays half done, and what others change is not put right.`)
}

func newResume() *cobra.Command {
	return pausing("resume", false, "Let a paused BundleDeployment go on", "resume lets a deployment go on from where it was paused.")
}

// pausing is the command that pauses, or its opposite.
func pausing(verb string, paused bool, short, long string) *cobra.Command {
	var o clusterOptions
	c := &cobra.Command{
		Use: verb + " NAME", Short: short, Long: long, Example: "  orcon " + verb + " shop -n shop", Args: arguments,
		RunE: func(c *cobra.Command, args []string) error {
			kinds, d, err := o.find(c, args[0])
			if err != nil {
				return err
			}
			before := d.DeepCopy()
			d.Spec.Paused = paused
			if err := kinds.Patch(c.Context(), d, client.MergeFrom(before)); err != nil {
				return fmt.Errorf("cannot %s %s: %w", verb, d.Owner(), err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: spec.paused is %t\n", d.Owner(), paused)
			return err
		},
	}
	o.flags(c)
	return c
}
