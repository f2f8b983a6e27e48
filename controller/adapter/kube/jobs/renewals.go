package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// The annotations of a Lease.
const (
	annotationFence  = "job.orcon.tengu.io/fence"
	annotationNumber = "job.orcon.tengu.io/renewal"
	annotationWaits  = "job.orcon.tengu.io/waits"
	annotationStage  = "job.orcon.tengu.io/stage"
)

// Renewals keeps the last renewal of each Run as a Lease in Orcon's own namespace: editors of a Run's namespace may
// write the Leases there (JOBS-DESIGN.md 2).
type Renewals struct {
	// Live reads from the API server itself.
	Live      client.Reader
	Writer    client.Writer
	Namespace string
}

var _ serve.Renewals = Renewals{}

// key returns the name of the Lease of a Run.
func (r Renewals) key(run string) client.ObjectKey {
	return client.ObjectKey{Namespace: r.Namespace, Name: "job-run-" + run}
}

// Renewed implements serve.Renewals, by one write. A renewal that is late may take the place of a newer one: no reader
// takes a lower number for a sign of life, and the next renewal has a higher one.
func (r Renewals) Renewed(ctx context.Context, renewal serve.Renewal) error {
	before, after := &coordinationv1.Lease{}, r.lease(renewal)
	before.Namespace, before.Name = after.Namespace, after.Name
	err := r.Writer.Patch(ctx, after.DeepCopy(), client.MergeFrom(before))
	if apierrors.IsNotFound(err) {
		err = r.Writer.Create(ctx, after)
	}
	if err != nil {
		return fmt.Errorf("cannot store the renewal of Run %s: %w", renewal.Run, err)
	}
	return nil
}

// lease returns the Lease of a renewal.
func (r Renewals) lease(renewal serve.Renewal) *coordinationv1.Lease {
	key := r.key(renewal.Run)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{v1alpha1.LabelRunUID: renewal.Run},
			Annotations: map[string]string{
				annotationFence: strconv.FormatInt(renewal.Fence, 10), annotationNumber: strconv.FormatInt(renewal.Number, 10),
				annotationWaits: renewal.Delay.Why, annotationStage: string(renewal.Delay.Stage),
			},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &renewal.Run, RenewTime: &metav1.MicroTime{Time: renewal.At}},
	}
}

// Last returns the last renewal of a Run; one without numbers before the first.
func (r Renewals) Last(ctx context.Context, run string) (serve.Renewal, error) {
	var lease coordinationv1.Lease
	err := r.Live.Get(ctx, r.key(run), &lease)
	if apierrors.IsNotFound(err) {
		return serve.Renewal{Run: run}, nil
	}
	last := serve.Renewal{Run: run, Delay: job.Delay{Stage: job.Stage(lease.Annotations[annotationStage]), Why: lease.Annotations[annotationWaits]}}
	if err == nil {
		last.Fence, err = strconv.ParseInt(lease.Annotations[annotationFence], 10, 64)
	}
	if err == nil {
		last.Number, err = strconv.ParseInt(lease.Annotations[annotationNumber], 10, 64)
	}
	if err != nil {
		return serve.Renewal{}, fmt.Errorf("cannot read the last renewal of Run %s: %w", run, err)
	}
	return last, nil
}

// stale is the age of a renewal whose Lease is deleted. Its Run has ended, or is lost for so long that its silence is
// known.
const stale = 24 * time.Hour

// Sweep deletes the Leases of Runs that were not renewed for a day.
func (r Renewals) Sweep(ctx context.Context, now time.Time) error {
	var all coordinationv1.LeaseList
	if err := r.Live.List(ctx, &all, client.InNamespace(r.Namespace), client.HasLabels{v1alpha1.LabelRunUID}); err != nil {
		return fmt.Errorf("cannot list the renewals of Runs: %w", err)
	}
	var failed []error
	for i := range all.Items {
		lease := &all.Items[i]
		if renewed := lease.Spec.RenewTime; renewed != nil && now.Sub(renewed.Time) < stale {
			continue
		}
		unchanged := client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}
		if err := r.Writer.Delete(ctx, lease, unchanged); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, fmt.Errorf("cannot delete Lease %s/%s: %w", lease.Namespace, lease.Name, err))
		}
	}
	return errors.Join(failed...)
}
