package collection

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/retention"
)

// collectLeft records Workspaces that went without a record, and deletes what others left that have been gone for long.
func (c *Collector) collectLeft(ctx context.Context, stock evidence.Stock, live map[string]*v1alpha1.JobWorkspace) error {
	var failed []error
	for _, l := range stock.Left {
		if err := c.outlived(ctx, l, live[l.UID] != nil); err != nil {
			failed = append(failed, fmt.Errorf("cannot collect what JobWorkspace %s with UID %s left: %w", l.Name, l.UID, err))
		}
	}
	for _, uid := range stock.UIDs {
		known := func(l evidence.Left) bool { return l.UID == uid }
		if live[uid] != nil || slices.ContainsFunc(stock.Left, known) {
			continue
		}
		found, err := evidence.Find(ctx, c.Store, uid)
		if err == nil {
			err = evidence.Leave(ctx, c.Store, found)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("cannot record what the JobWorkspace with UID %s left: %w", uid, err))
		}
	}
	return errors.Join(failed...)
}

// outlived deletes the blobs of Workspaces whose time has passed, and each record last. It drops the record of a
// Workspace whose object was restored.
func (c *Collector) outlived(ctx context.Context, l evidence.Left, live bool) error {
	if live {
		return evidence.Forget(ctx, c.Store, l)
	}
	if c.Now().Sub(l.Since) < retention.LeftAge {
		return nil
	}
	all, err := c.Store.List(ctx, l.UID)
	if err == nil {
		err = c.remove(ctx, all)
	}
	if err != nil {
		return err
	}
	return evidence.Forget(ctx, c.Store, l)
}
