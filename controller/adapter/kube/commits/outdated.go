package commits

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// ReportOutdated stores that the agent of a pod is too old to receive its data, at most once in a minute (TRUST.md A6).
func (c *Statuses) ReportOutdated(ctx context.Context, by status.Reporter) error {
	return c.changeReport(ctx, by, func(_ v1alpha1.Unit, r *v1alpha1.Report) bool {
		now := metav1.NewTime(c.Now().Truncate(time.Second))
		if was := r.OutdatedTime; was != nil && now.Sub(was.Time) < time.Minute {
			return false
		}
		r.OutdatedTime = &now
		return true
	})
}
