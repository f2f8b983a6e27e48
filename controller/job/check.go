package job

import (
	"context"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/check"
)

// checking has a Workspace checked by its schedule.
type checking struct{ *look }

// check makes the Run of the check that is due. Its name follows from the time, so that there is one. The next check is
// due after the end of the last one.
func (l checking) check(ctx context.Context) error {
	if l.o.Spec.Check == nil || !l.o.DeletionTimestamp.IsZero() {
		return nil
	}
	schedule, err := check.ParseSchedule(l.o.Spec.Check.Schedule)
	if err != nil {
		return nil //nolint:nilerr // the condition shows it
	}
	last := l.o.CreationTimestamp.Time
	for _, e := range l.runs {
		switch {
		case e.Spec.Action != check.Action:
		case !e.ended():
			return nil
		case e.CreationTimestamp.After(last):
			last = e.CreationTimestamp.Time
		}
	}
	due := schedule.After(last)
	if left := due.Sub(l.Now()); left > 0 {
		l.within(left)
		return nil
	}
	const base = 36
	o := &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.name.Namespace, Name: l.name.Name + "-" + strconv.FormatInt(due.Unix()/int64(time.Minute/time.Second), base),
		},
		Spec: v1alpha1.JobRunSpec{Workspace: l.name.Name, Action: check.Action},
	}
	if err := l.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cannot make the JobRun of a check: %w", err)
	}
	return nil
}

// drift returns the condition of a Workspace that has a schedule.
func (l checking) drift() []condition.Condition {
	if l.o.Spec.Check == nil {
		return nil
	}
	if _, err := check.ParseSchedule(l.o.Spec.Check.Schedule); err != nil {
		return []condition.Condition{check.Invalid(err)}
	}
	var last *execution
	for _, e := range l.runs {
		if e.Spec.Action == check.Action && e.ended() && (last == nil || last.CreationTimestamp.Before(&e.CreationTimestamp)) {
			last = e
		}
	}
	if last == nil {
		return []condition.Condition{check.Last{}.Condition(l.w)}
	}
	return []condition.Condition{check.Last{Run: last.Name, Fence: last.published.Fence, Exit: last.published.Exit}.Condition(l.w)}
}
