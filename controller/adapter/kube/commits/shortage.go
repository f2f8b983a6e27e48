package commits

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// ReportShortage stores that a pod's unit has used up a budget of writes, at most once in a minute (TRUST.md U1).
func (c *Statuses) ReportShortage(ctx context.Context, by status.Reporter, short budget.Level) error {
	return c.changeReport(ctx, by, func(_ v1alpha1.Unit, r *v1alpha1.Report) bool {
		now := metav1.NewTime(c.Now().Truncate(time.Second))
		if was := r.Shortage; was != nil && was.Budget == v1alpha1.Budget(short) && now.Sub(was.Time.Time) < time.Minute {
			return false
		}
		r.Shortage = &v1alpha1.Shortage{Budget: v1alpha1.Budget(short), Time: now}
		return true
	})
}
