package kubejob

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
)

// Jobs carries out attempts by Jobs of the cluster.
type Jobs struct {
	// Reader reads from the API server itself: what a cache does not have yet would be made twice, or count as gone.
	Reader client.Reader
	Writer client.Client
	Runner Runner
	// Trust returns the PEM certificates by which keepers trust the jobs API; none while they are not known.
	Trust func() []byte
}

var _ executor.Executor = (*Jobs)(nil)

// errUntrusted is the error before there are certificates to trust.
var errUntrusted = errors.New("the certificates by which its keeper would trust the jobs API are not published yet: " +
	"see the log of relations-controller")

// Start implements executor.Executor.
func (j *Jobs) Start(ctx context.Context, a executor.Attempt) error {
	job, err := j.job(ctx, a.Name)
	if err != nil || job != nil {
		return err
	}
	trust := j.Trust()
	if len(trust) == 0 {
		return cannot("start", a.Name, errUntrusted)
	}
	var owner v1alpha1.JobRun
	if err := j.Reader.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: a.Run}, &owner); err != nil {
		return cannot("start", a.Name, err)
	}
	if string(owner.UID) != a.UID {
		return cannot("start", a.Name, errors.New("its JobRun has gone, and another one has its name"))
	}
	err = j.Writer.Create(ctx, build(a, j.Runner, string(trust), owner.Labels[labelQueue]))
	if apierrors.IsAlreadyExists(err) {
		return nil // made meanwhile; the next look sees whose it is
	}
	return cannot("start", a.Name, err)
}

// Look implements executor.Executor.
func (j *Jobs) Look(ctx context.Context, n executor.Name) (executor.Sight, error) {
	job, err := j.job(ctx, n)
	if err != nil {
		return executor.Sight{}, err
	}
	var pods corev1.PodList
	if err := j.Reader.List(ctx, &pods, client.InNamespace(n.Namespace), client.MatchingLabels(selector(n))); err != nil {
		return executor.Sight{}, cannot("look at", n, err)
	}
	var events corev1.EventList
	if uid, reason := suspect(job, pods.Items); uid != "" {
		of := client.MatchingFields{"involvedObject.uid": string(uid), "reason": reason}
		if err := j.Reader.List(ctx, &events, client.InNamespace(n.Namespace), of); err != nil {
			return executor.Sight{}, cannot("look at", n, err)
		}
	}
	return see(job, pods.Items, refusal(events.Items)), nil
}

// Remove implements executor.Executor.
func (j *Jobs) Remove(ctx context.Context, n executor.Name) error {
	job, err := j.job(ctx, n)
	if err != nil || job == nil {
		return err
	}
	err = j.Writer.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &job.UID})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or another one that has its name
	}
	return cannot("remove", n, err)
}

// Refresh gives the pods of runs the certificates that are trusted now: the authority of the jobs API may be replaced
// while a run goes on, and the kubelet shows its keeper the new ones.
func (j *Jobs) Refresh(ctx context.Context) error {
	trust := string(j.Trust())
	if trust == "" {
		return nil
	}
	var pods metav1.PartialObjectMetadataList
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := j.Reader.List(ctx, &pods, client.HasLabels{v1alpha1.LabelRunUID}); err != nil {
		return fmt.Errorf("cannot list the pods of Runs: %w", err)
	}
	var failed []error
	for i := range pods.Items {
		p := &pods.Items[i]
		before := p.DeepCopy()
		if has, is := p.Annotations[annotationTrust]; !is || has == trust {
			continue
		}
		p.Annotations[annotationTrust] = trust
		if err := j.Writer.Patch(ctx, p, client.MergeFrom(before)); err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, fmt.Errorf("cannot give pod %s/%s the trusted certificates: %w", p.Namespace, p.Name, err))
		}
	}
	return errors.Join(failed...)
}

// job returns the Job of an attempt; nil for none. A Job of another object that has its name is an error.
func (j *Jobs) job(ctx context.Context, n executor.Name) (*batchv1.Job, error) {
	var job batchv1.Job
	err := j.Reader.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: name(n)}, &job)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, cannot("look at", n, err)
	case job.Labels[v1alpha1.LabelRunUID] != n.UID:
		return nil, cannot("look at", n, fmt.Errorf("its Job %s belongs to something else: delete that", job.Name))
	}
	return &job, nil
}

// cannot adds the attempt to an error; nil for none.
func cannot(verb string, n executor.Name, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s attempt %d of Run %s/%s: %w", verb, n.Number, n.Namespace, n.Run, err)
}
