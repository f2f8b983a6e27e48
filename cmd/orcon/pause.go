package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
)

func newPause() *cobra.Command {
	return pausing("pause", true, "Pause a BundleDeployment",
		`pause stops all work on a BundleDeployment until orcon resume: a revision that is being carried out
stays half done, and changes by others are not corrected.`)
}

func newResume() *cobra.Command {
	return pausing("resume", false, "Resume a paused BundleDeployment", "resume continues the work on a BundleDeployment where it was paused.")
}

// pausing returns the command that pauses, or its opposite.
func pausing(verb string, paused bool, short, long string) *cobra.Command {
	var o clusterOptions
	c := &cobra.Command{
		Use: verb + " NAME", Short: short, Long: long, Example: "  orcon " + verb + " shop -n shop", Args: arguments,
		ValidArgsFunction: o.complete("BundleDeployment"),
		RunE: func(c *cobra.Command, args []string) error {
			kinds, d, err := o.find(c, args[0])
			if err != nil {
				return err
			}
			before := d.DeepCopy()
			d.Spec.Paused = paused
			if err := kinds.Patch(c.Context(), d, client.MergeFrom(before)); err != nil {
				return fmt.Errorf("cannot %s %s: %w", verb, convert.Owner(d), err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: spec.paused is %t now\n", convert.Owner(d), paused)
			return err
		},
	}
	o.flags(c)
	return c
}
