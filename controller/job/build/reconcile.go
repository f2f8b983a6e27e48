package build

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
)

// Reconciler keeps JobTemplates that are built, and their JobTemplateVersions.
type Reconciler struct {
	Client   client.Client
	Workshop Workshop
	Now      func() time.Time

	works *works
}

const (
	// retry is after how long a build is repeated that failed for a reason that may pass.
	retry = time.Minute
	// defaultInterval is how often a branch or tag is looked up.
	defaultInterval = 5 * time.Minute
)

// Reconcile does what can be done for one JobTemplate within seconds. Builds go on by themselves, and have it called
// again.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	o := &v1alpha1.JobTemplate{}
	err := r.Client.Get(ctx, req.NamespacedName, o)
	switch {
	case apierrors.IsNotFound(err):
		r.works.forget(req.NamespacedName)
		return reconcile.Result{}, r.attend(ctx, req.NamespacedName, "", 0)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("cannot read the JobTemplate: %w", err)
	case o.Spec.Build == nil:
		return reconcile.Result{}, nil
	}
	before := o.DeepCopy()
	after, err := r.build(ctx, o)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !reflect.DeepEqual(before.Status, o.Status) {
		if err := r.Client.Status().Patch(ctx, o, client.MergeFrom(before)); err != nil {
			return reconcile.Result{}, fmt.Errorf("cannot write the status: %w", err)
		}
	}
	return reconcile.Result{RequeueAfter: after}, r.attend(ctx, req.NamespacedName, o.Status.Version, unused)
}

// order holds the inputs of a build.
type order struct {
	name   types.NamespacedName
	t      template.Type
	l      template.Design
	source bundle.Reference
	// pushed is the digest of content that a person pushed, in place of a source; "" for none.
	pushed string
}

// follows reports whether the content may change without a change of the template.
func (o order) follows() bool { return o.pushed == "" && o.source.Pinned() != nil }

// build sets the status of a template, and returns when to look at it again; 0 for when something changes.
func (r *Reconciler) build(ctx context.Context, o *v1alpha1.JobTemplate) (time.Duration, error) {
	kind := &v1alpha1.JobTemplateType{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: o.Spec.Build.Type}, kind)
	switch {
	case apierrors.IsNotFound(err):
		r.publish(o, template.Failed(fmt.Errorf("there is no JobTemplateType %s: %w: create it, or correct spec.build.type",
			o.Spec.Build.Type, template.ErrType), o.Status.Version))
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("cannot read JobTemplateType %s: %w", o.Spec.Build.Type, err)
	}
	if o.Spec.Build.Source.Reference+o.Spec.Build.Source.Digest == "" {
		r.publish(o, template.Failed(fmt.Errorf("%w: push it: `orcon job template push FOLDER --template %s -n %s`",
			template.ErrSource, o.Name, o.Namespace), o.Status.Version))
		return 0, nil
	}
	ordered, err := orderOf(o, kind)
	if err != nil {
		r.publish(o, template.Failed(err, o.Status.Version))
		return 0, nil
	}
	again := func(failed error) time.Duration {
		switch {
		case failed != nil && !errors.Is(failed, template.ErrRefused):
			return retry
		case !ordered.follows():
			return 0
		case o.Spec.Build.Source.Interval != nil:
			return o.Spec.Build.Source.Interval.Duration
		}
		return defaultInterval
	}
	input := fmt.Sprintf("%s %d %s %d", o.UID, o.Generation, kind.UID, kind.Generation)
	last, ended := r.works.look(ordered.name, input, again, func(ctx context.Context) (made, error) { return r.carryOut(ctx, ordered) })
	switch {
	case !ended && o.Status.ObservedGeneration != o.Generation:
		r.publish(o, template.Building())
	case !ended:
	case last.err != nil:
		r.publish(o, template.Failed(last.err, o.Status.Version))
	default:
		o.Status.Version, o.Status.Source = last.version, last.source
		r.publish(o, template.Built(last.version))
	}
	if !ended {
		return 0, nil
	}
	return again(last.err), nil
}

// orderOf returns the inputs of a template's build; the error wraps template.ErrRefused.
func orderOf(o *v1alpha1.JobTemplate, kind *v1alpha1.JobTemplateType) (order, error) {
	all := order{name: client.ObjectKeyFromObject(o), pushed: o.Spec.Build.Source.Digest}
	var errs [3]error
	all.t, errs[0] = convert.ToType(kind)
	all.l, errs[1] = convert.ToBuild(o)
	if all.pushed == "" {
		all.source, errs[2] = bundle.ParseReference(o.Spec.Build.Source.Reference)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return all, refused{err}
	}
	return all, nil
}

// refused is an error about a template, which no repetition mends.
type refused struct{ error }

// Unwrap returns the error and what it counts as.
func (e refused) Unwrap() []error { return []error{e.error, template.ErrRefused} }

// publish sets the conditions of a template.
func (r *Reconciler) publish(o *v1alpha1.JobTemplate, wanted []condition.Condition) {
	o.Status.Conditions = value.SetConditions(o.Status.Conditions, wanted, o.Generation, r.Now())
	o.Status.ObservedGeneration = o.Generation
}

// fetch returns the content of an order, and where it came from.
func (r *Reconciler) fetch(ctx context.Context, all order) (bundle.Tree, string, error) {
	if all.pushed != "" {
		files, err := r.Workshop.Pushed(ctx, all.name.Namespace, all.pushed)
		return files, all.pushed, err
	}
	files, resolved, err := r.Workshop.Fetch(ctx, all.source)
	return files, resolved.String(), err
}

// carryOut makes the version of an order, unless there is one.
func (r *Reconciler) carryOut(ctx context.Context, all order) (made, error) {
	files, source, err := r.fetch(ctx, all)
	if err != nil {
		return made{}, fmt.Errorf("%w: %w", template.ErrSource, err)
	}
	if err := files.Unlinked(); err != nil {
		return made{}, refused{err}
	}
	v, err := template.Freeze(all.t, all.l, files.Digest())
	if err != nil {
		return made{}, refused{err}
	}
	name, err := v.Name()
	if err != nil {
		return made{}, refused{err}
	}
	result := made{version: name, source: source}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: all.name.Namespace, Name: name}, &v1alpha1.JobTemplateVersion{})
	if !apierrors.IsNotFound(err) {
		return result, err
	}
	image, err := r.Workshop.Make(ctx, all.name.Namespace, v, files)
	if err != nil {
		return made{}, err
	}
	o, err := convert.ForVersion(v, all.name.Namespace, image, result.source)
	if err != nil {
		return made{}, err
	}
	if err := r.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return made{}, fmt.Errorf("cannot create JobTemplateVersion %s: %w", name, err)
	}
	return result, nil
}
