package commits

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/event"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// Statuses stores what units report for people.
type Statuses struct {
	// Reader reads from the API server itself.
	Reader client.Reader
	Writer client.Client
	Now    func() time.Time
	// Turns are shared by all that write here; may be nil.
	Turns *object.Turns
	// Leases are shared by all that ask here who leads; may be nil.
	Leases *object.Leases
	// Events records the Events on the units' pods.
	Events events.EventRecorder
}

// Report stores what the handlers of a pod's unit fail at; the zero failure for nothing. An Event on the pod
// reports it once, and again when it is another failure.
func (c *Statuses) Report(ctx context.Context, by status.Reporter, failure status.Failure) error {
	var before, after status.Failure
	var unit v1alpha1.Unit
	err := c.changeReport(ctx, by, func(u v1alpha1.Unit, r *v1alpha1.Report) bool {
		before, after = convert.ToFailure(r.Failure), status.Failure{}
		if failure.Fails() {
			after = failure.Bounded().Follows(before, c.Now())
		}
		r.Failure, unit = convert.ForFailure(after), u
		return after != before
	})
	if err == nil && after.IsNews(before) {
		object.WriteEvent(c.Events, reporterPod(by, &unit), corev1.EventTypeWarning, event.Negotiate, string(condition.HandlerFailed),
			after.Text(by.Namespace, fmt.Sprintf("%s/%d", by.Application, unit.Number), unit.Pod))
	}
	return err
}

// ReportWaiting writes an Event with what the handlers of a pod's unit wait for. All such Events of one pod
// are one series, so that a pod cannot fill its namespace with Events.
func (c *Statuses) ReportWaiting(ctx context.Context, by status.Reporter, text string) error {
	return c.changeReport(ctx, by, func(u v1alpha1.Unit, _ *v1alpha1.Report) bool {
		c.Events.Eventf(reporterPod(by, &u), nil, corev1.EventTypeNormal, event.HandlerWaiting, event.Negotiate, "%s",
			status.LastWords(text))
		return false
	})
}

// reporterPod returns the pod of a unit as Events name it.
func reporterPod(by status.Reporter, u *v1alpha1.Unit) *corev1.Pod {
	pod := object.Named(&corev1.Pod{}, by.Namespace, u.Pod)
	pod.UID = types.UID(by.PodUID)
	return pod
}

// SetStatus stores the status of a pod's unit or, from its leader, of its application. The same status is not
// stored again (RELATIONS.md P3). Leader and status are in one object, so that no late write of a deposed
// leader can come between (SAFETY.md P1).
func (c *Statuses) SetStatus(ctx context.Context, by status.Reporter, ofApplication bool, info status.Info) error {
	info.Since = c.Now()
	set := func(at **v1alpha1.WorkloadStatus) (differs bool) {
		differs = !convert.ToStatus(*at).Same(info)
		if differs {
			*at = convert.ForWorkload(info)
		}
		return differs
	}
	if !ofApplication {
		return c.changeReport(ctx, by, func(_ v1alpha1.Unit, r *v1alpha1.Report) bool { return set(&r.Workload) })
	}
	return c.changeApplication(ctx, by, func(a *v1alpha1.RelatedApplication, lease leadership.Observation) (bool, error) {
		// Whether its lease was renewed in time may be in doubt: leader and status are in one object.
		if may, doubt := lease.MayWrite(by.PodUID, by.Term, c.Now()); !may && !doubt {
			return false, transaction.ErrDeposed
		}
		return set(&a.Status.Workload), nil
	})
}

// SetSide stores the status of an application in a relation, from its leader. The relation keeps the term,
// and refuses a lower one (SAFETY.md P1).
func (c *Statuses) SetSide(ctx context.Context, by status.Reporter, side relation.SideRef, info status.Info) error {
	e, later := elections{c.Reader, c.Writer, c.Now, c.Leases}, 0
	leads, _, err := e.leadsNow(ctx, by)
	if err != nil {
		return err
	}
	if !leads {
		return transaction.ErrDeposed
	}
	info.Since = c.Now()
	err = c.Turns.Write(ctx, side.Namespace+"/"+side.Name, func() error {
		r, err := object.RelationOf(ctx, c.Reader, client.ObjectKey{Namespace: side.Namespace, Name: side.Name}, side.UID)
		if err != nil {
			return err
		}
		if r == nil {
			return status.ErrGone
		}
		at := convert.Side(r, side.Role)
		switch {
		case *at != nil && (*at).Term > int64(by.Term):
			later = int((*at).Term)
			return transaction.ErrDeposed
		case *at != nil && (*at).Term == int64(by.Term) && convert.ToSideStatus(*at).Same(info):
			return nil
		}
		*at = convert.ForSide(info, by.Term)
		return c.Writer.Status().Update(ctx, r)
	})
	if err != nil {
		return fmt.Errorf("cannot note the status of relation %s: %w", side.Name, e.outranked(ctx, by, later, err))
	}
	return nil
}

// Status returns the state of an application to one of its units. With ofApplication set, the unit must lead.
func (c *Statuses) Status(ctx context.Context, by status.Reporter, ofApplication bool) (relation.ApplicationState, error) {
	app := object.Named(&v1alpha1.RelatedApplication{}, by.Namespace, by.Application)
	lease, err := c.Leases.Read(ctx, c.Reader, app, c.Now)
	if err != nil {
		return relation.ApplicationState{}, fmt.Errorf("cannot read application %s: %w", by.Application, err)
	}
	if ofApplication && !lease.Leads(by.PodUID, c.Now()) {
		return relation.ApplicationState{}, transaction.ErrDeposed
	}
	record, err := convert.ToRecord(app)
	return record.State, err
}

// changeReport changes the report of a pod's unit, and writes it if change reports a difference.
func (c *Statuses) changeReport(
	ctx context.Context, by status.Reporter, change func(v1alpha1.Unit, *v1alpha1.Report) (differs bool),
) error {
	return c.changeApplication(ctx, by, func(a *v1alpha1.RelatedApplication, _ leadership.Observation) (bool, error) {
		unit, lives := object.UnitOfPod(a, by.PodUID)
		if !lives {
			return false, status.ErrGone
		}
		return change(*unit, object.ReportOf(a, unit)), nil
	})
}

// changeApplication changes the application of a pod, and writes it if change reports a difference. All units
// of an application may write it at once.
func (c *Statuses) changeApplication(ctx context.Context, by status.Reporter,
	change func(*v1alpha1.RelatedApplication, leadership.Observation) (differs bool, err error)) error {
	err := c.Turns.Write(ctx, by.Namespace+"/"+by.Application, func() error {
		app := object.Named(&v1alpha1.RelatedApplication{}, by.Namespace, by.Application)
		lease, err := c.Leases.Read(ctx, c.Reader, app, c.Now)
		if err != nil {
			return err
		}
		differs, err := change(app, lease)
		if err != nil || !differs {
			return err
		}
		return c.Writer.Status().Update(ctx, app)
	})
	if err != nil {
		return fmt.Errorf("cannot note the status of %s: %w", by.Application, err)
	}
	return nil
}
