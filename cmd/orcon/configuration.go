package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// configured returns a bundle.LackError if the workloads of a plan need configuration that
// nobody has. What the user may not read is told, and taken to be there.
func (d *deployed) configured(ctx context.Context, c *cobra.Command, p bundle.Plan) error {
	var ids []bundle.ID
	for _, need := range p.Sequence.Needs() {
		if !slices.Contains(ids, need.ID) {
			ids = append(ids, need.ID)
		}
	}
	keys, unread, err := d.world.Keys(ctx, ids)
	if err != nil {
		return err
	}
	lacks := slices.DeleteFunc(p.Lacks(keys), func(l bundle.Lack) bool { return slices.Contains(unread, l.ID) })
	for _, id := range unread {
		fmt.Fprintf(c.ErrOrStderr(), "note: you may not read %s, so nobody knows whether it has what is read of it\n", id)
	}
	if len(lacks) > 0 {
		return &bundle.LackError{Lacks: lacks}
	}
	return nil
}
