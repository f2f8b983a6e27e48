package collection

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/retention"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// sweeping is the collection of one Workspace.
type sweeping struct {
	*Collector

	uid    string
	w      workspace.Workspace
	extent workspace.Extent
	now    time.Time
	// logs is the highest fence whose logs may go.
	logs int64
}

// sweepOne collects the unused blobs of a Workspace. It deletes nothing if the Workspace cannot be read.
func (c *Collector) sweepOne(ctx context.Context, key client.ObjectKey, uid types.UID) error {
	fences, err := c.Store.Fences(ctx, string(uid))
	if err != nil {
		return err
	}
	var o v1alpha1.JobWorkspace
	if err := c.Reader.Get(ctx, key, &o); err != nil || o.UID != uid {
		return client.IgnoreNotFound(err) // it has gone
	}
	s := sweeping{Collector: c, uid: string(uid), now: c.Now()}
	if s.w, err = convert.ToWorkspace(&o, job.Exclusive); err != nil {
		return err
	}
	if s.extent, err = evidence.Extent(ctx, c.Store, s.uid, s.w); err != nil {
		return err
	}
	if !retention.Sweepable(s.w, s.extent) {
		return nil
	}
	if s.logs, err = s.oldLogs(ctx, fences, o.Spec.Logs); err != nil {
		return err
	}
	for _, fence := range fences {
		if err := s.below(ctx, fence); err != nil {
			return err
		}
	}
	return nil
}

// oldLogs returns the highest fence whose logs may go.
func (s *sweeping) oldLogs(ctx context.Context, fences []int64, policy *v1alpha1.JobLogPolicy) (int64, error) {
	var manifests []retention.Manifest
	for _, fence := range fences {
		found, err := s.Store.Below(ctx, s.uid, fence, evidence.RunName)
		if err != nil {
			return 0, err
		}
		for _, one := range found {
			if one.Key.Name == evidence.RunName {
				manifests = append(manifests, retention.Manifest{Fence: fence, Stored: one.Stored})
			}
		}
	}
	keep, age := 0, time.Duration(0)
	if policy != nil {
		keep = int(policy.KeepRuns)
		if policy.KeepFor != nil {
			age = policy.KeepFor.Duration
		}
	}
	return retention.Logs(manifests, keep, age, s.now), nil
}

// below collects below one fence.
func (s *sweeping) below(ctx context.Context, fence int64) error {
	all, err := s.Store.Below(ctx, s.uid, fence, "")
	if err != nil || len(all) == 0 {
		return err
	}
	newest := slices.MaxFunc(all, func(a, b blob.Info) int { return a.Stored.Compare(b.Stored) })
	prefix := retention.Prefix{Fence: fence, Newest: newest.Stored, Logs: fence > s.logs}
	if len(retention.Sweep(s.w, s.extent, []retention.Prefix{prefix}, s.now)) > 0 {
		return s.remove(ctx, all)
	}
	var archives []retention.Archive
	for _, one := range all {
		if strings.HasPrefix(one.Key.Name, evidence.StatePrefix) || strings.HasPrefix(one.Key.Name, evidence.PlanPrefix) {
			archives = append(archives, retention.Archive{Key: one.Key.String(), Fence: fence, Stored: one.Stored})
		}
	}
	gone := retention.Archives(s.w, s.extent, archives, s.now)
	return s.remove(ctx, slices.DeleteFunc(all, func(one blob.Info) bool {
		chunk := strings.HasPrefix(one.Key.Name, log.Prefix) && fence <= s.logs
		return !chunk && !slices.Contains(gone, one.Key.String())
	}))
}
