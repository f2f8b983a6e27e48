package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// configured returns a bundle.LackError if the workloads of a plan need configuration that does not exist and is not
// expected to be made. Configuration that the user may not read is reported, and taken to exist.
func (o *installOptions) configured(ctx context.Context, c *cobra.Command, d *deployed, p bundle.Plan) error {
	lacks, unread, err := d.world.Lacks(ctx, p)
	if err != nil {
		return err
	}
	if lacks, err = bundle.Expecting(lacks, o.expect...); err != nil {
		return err
	}
	for _, id := range unread {
		fmt.Fprintf(c.ErrOrStderr(), "note: you may not read %s, so whether it has what the workloads need is unknown\n", id)
	}
	if len(lacks) == 0 {
		return nil
	}
	var flags []string
	for _, l := range lacks {
		flags = append(flags, fmt.Sprintf("--expect %s/%s", l.ID.Kind, l.ID.Name))
	}
	return fmt.Errorf("%w\nto install all the same, because they are created during the installation, add: %s",
		&bundle.LackError{Lacks: lacks}, strings.Join(flags, " "))
}
