package approval

import (
	"context"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/approval"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// Reconciler has approved plans applied.
type Reconciler struct {
	Client client.Client
	// Reader reads JobRuns and JobWorkspaces as they are now.
	Reader client.Reader
	Now    func() time.Time
}

// Reconcile judges one JobApproval. One that led to a JobRun is done.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	o := &v1alpha1.JobApproval{}
	if err := r.Client.Get(ctx, req.NamespacedName, o); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	made, err := r.planner(ctx, o)
	if err != nil {
		return reconcile.Result{}, err
	}
	subject, err := r.subject(ctx, made)
	if err != nil {
		return reconcile.Result{}, err
	}
	given := approval.Approval{Namespace: o.Namespace, Run: o.Spec.Run, Digest: o.Spec.PlanDigest, By: o.Status.Run}
	before := o.DeepCopy()
	if given.By == "" && given.Judge(subject).Reason == approval.Approved {
		if err := r.apply(ctx, o, made); err != nil {
			return reconcile.Result{}, err
		}
		given.By = o.Status.Run
	}
	o.Status.ObservedGeneration = o.Generation
	o.Status.Conditions = value.SetConditions(o.Status.Conditions, given.Judge(subject).Conditions(), o.Generation, r.Now())
	if reflect.DeepEqual(before.Status, o.Status) {
		return reconcile.Result{}, nil
	}
	if err := client.IgnoreNotFound(r.Client.Status().Patch(ctx, o, client.MergeFrom(before))); err != nil {
		return reconcile.Result{}, fmt.Errorf("cannot write the status of the JobApproval: %w", err)
	}
	return reconcile.Result{}, nil
}

// planner returns the JobRun that an approval names; nil if there is none. The approval goes with it.
func (r *Reconciler) planner(ctx context.Context, o *v1alpha1.JobApproval) (*v1alpha1.JobRun, error) {
	made := &v1alpha1.JobRun{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Spec.Run}, made)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, fmt.Errorf("cannot read JobRun %s: %w", o.Spec.Run, err)
	case !convert.Approves(o, convert.ToRun(made)):
		return nil, nil //nolint:nilnil // it is another one
	case len(o.OwnerReferences) > 0:
		return made, nil
	}
	before := o.DeepCopy()
	o.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: v1alpha1.GroupVersion.String(), Kind: "JobRun", Name: made.Name, UID: made.UID},
	}
	if err := r.Client.Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return nil, fmt.Errorf("cannot have the JobApproval go with its JobRun: %w", err)
	}
	return made, nil
}

// subject returns what an approval of the plan of a JobRun is judged by.
func (r *Reconciler) subject(ctx context.Context, made *v1alpha1.JobRun) (approval.Subject, error) {
	if made == nil {
		return approval.Subject{}, nil
	}
	s := approval.Subject{Run: convert.ToRun(made), Ended: made.State != nil && made.State.End != nil}
	o := &v1alpha1.JobWorkspace{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: made.Namespace, Name: made.Spec.Workspace}, o)
	if err == nil {
		s.Workspace, err = convert.ToWorkspace(o, job.Exclusive)
	}
	if client.IgnoreNotFound(err) != nil {
		return s, fmt.Errorf("cannot read JobWorkspace %s: %w", made.Spec.Workspace, err)
	}
	return s, nil
}

// apply makes the JobRun that applies the plan of another one. The approval has the same one each time.
func (r *Reconciler) apply(ctx context.Context, o *v1alpha1.JobApproval, made *v1alpha1.JobRun) error {
	applies := &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: fmt.Sprintf("%s-%.6s", made.Spec.Workspace, o.UID)},
		Spec:       v1alpha1.JobRunSpec{Workspace: made.Spec.Workspace, Action: run.Planned(made.Spec.Action), Plan: made.Name},
	}
	if err := r.Client.Create(ctx, applies); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cannot make the JobRun that applies the plan of JobRun %s: %w", made.Name, err)
	}
	o.Status.Run = applies.Name
	return nil
}
