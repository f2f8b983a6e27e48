package commits

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// ReportUnwritten stores which files the agent of a pod cannot write, at most once in a minute (TRUST.md U2).
func (c *Statuses) ReportUnwritten(ctx context.Context, by status.Reporter, text string) error {
	return c.changeReport(ctx, by, func(_ v1alpha1.Unit, r *v1alpha1.Report) bool {
		now := metav1.NewTime(c.Now().Truncate(time.Second))
		if was := r.Unwritten; was != nil && now.Sub(was.Time.Time) < time.Minute {
			return false
		}
		r.Unwritten = &v1alpha1.Unwritten{Message: status.LastWords(text), Time: now}
		return true
	})
}
