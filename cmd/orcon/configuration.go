package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// configured returns a bundle.LackError if the workloads of a plan read configuration that
// nobody has or is expected to make. What the user may not read is told, and taken to be there.
func (o *installOptions) configured(ctx context.Context, c *cobra.Command, d *deployed, p bundle.Plan) error {
	var ids []bundle.ID
	for _, reading := range p.Sequence.Readings() {
		if !slices.Contains(ids, reading.ID) {
			ids = append(ids, reading.ID)
		}
	}
	keys, unread, err := d.world.Keys(ctx, ids)
	if err != nil {
		return err
	}
	lacks, err := bundle.Expecting(p.Lacks(keys), o.expect...)
	if err != nil {
		return err
	}
	for _, id := range unread {
		fmt.Fprintf(c.ErrOrStderr(), "note: you may not read %s, so nobody knows whether it has what is read of it\n", id)
	}
	lacks = slices.DeleteFunc(lacks, func(l bundle.Lack) bool { return slices.Contains(unread, l.ID) })
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("%w\nwhat is made while this is installed may be left to that: --expect %s/%s", &bundle.LackError{Lacks: lacks}, lacks[0].ID.Kind, lacks[0].ID.Name)
}
