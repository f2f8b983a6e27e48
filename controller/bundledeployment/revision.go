package bundledeployment

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// revisions are the BundleRevisions of a deployment.
type revisions struct{ *job }

// publishedRevision has the parts of a BundleRevision that are compared.
type publishedRevision struct {
	// planDigest and contents never change.
	planDigest string
	contents   []string
	// revision is what its status was written from by this process.
	revision domain.Revision
}

// published returns what is published for the deployment, read once in the life of a
// process.
func (j revisions) published(ctx context.Context) (map[int]publishedRevision, error) {
	if j.memory.revisions != nil {
		return j.memory.revisions, nil
	}
	var all v1alpha1.BundleRevisionList
	if err := j.Client.List(ctx, &all, client.InNamespace(j.deployment.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list revisions: %w", err)
	}
	known := map[int]publishedRevision{}
	for i := range all.Items {
		if r := &all.Items[i]; r.Spec.Deployment == j.deployment.Name && metav1.IsControlledBy(r, j.deployment) {
			known[int(r.Spec.Revision)] = publishedRevision{planDigest: r.Spec.PlanDigest, contents: r.Spec.Contents}
		}
	}
	j.memory.revisions = known
	return known, nil
}

// forged returns the revision whose record differs from what was published, 0 for none: a
// permission to write Secrets puts no other content under an approval.
func (j revisions) forged(known map[int]publishedRevision) int {
	for _, v := range j.engine.Record().Revisions {
		f, there := known[v.Number]
		if there && (f.planDigest != v.PlanDigest || !slices.Equal(f.contents, j.store.Contents(v.Number))) {
			return v.Number
		}
	}
	return 0
}

// publish creates a BundleRevision for each revision that is stored, and deletes those
// of revisions that are stored no more.
func (j revisions) publish(ctx context.Context) error {
	known, err := j.published(ctx)
	if err != nil {
		return err
	}
	stored := map[int]bool{}
	for _, v := range j.engine.Record().Revisions {
		stored[v.Number] = true
		if known[v.Number].revision == v {
			continue
		}
		one, err := j.publishOne(ctx, v)
		if err != nil {
			return fmt.Errorf("cannot write revision %d: %w", v.Number, err)
		}
		known[v.Number] = one
	}
	for number := range known {
		if stored[number] {
			continue
		}
		r := &v1alpha1.BundleRevision{}
		r.Namespace, r.Name = j.deployment.Namespace, convert.RevisionName(j.deployment, number)
		if err := j.Client.Delete(ctx, r); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot delete revision %d: %w", number, err)
		}
		delete(known, number)
	}
	return nil
}

func (j revisions) publishOne(ctx context.Context, v domain.Revision) (publishedRevision, error) {
	var r v1alpha1.BundleRevision
	err := j.Client.Get(ctx, client.ObjectKey{Namespace: j.deployment.Namespace, Name: convert.RevisionName(j.deployment, v.Number)}, &r)
	if apierrors.IsNotFound(err) {
		p, err := j.engine.Store.Plan(ctx, v.Number)
		if err != nil {
			return publishedRevision{}, err
		}
		r = *convert.ForRevision(j.deployment, v, p, j.store.Contents(v.Number))
		r.Spec.Content = int64(j.engine.Record().Twin(v))
		if err := j.Client.Create(ctx, &r); err != nil {
			return publishedRevision{}, err
		}
	} else if err != nil {
		return publishedRevision{}, err
	}
	if !metav1.IsControlledBy(&r, j.deployment) {
		return publishedRevision{}, fmt.Errorf("BundleRevision %s belongs to another deployment: if that was deleted, the "+
			"cluster removes it soon; else delete it", r.Name)
	}
	if convert.SetRevision(&r, v) {
		if err := j.Client.Status().Update(ctx, &r); err != nil {
			return publishedRevision{}, err
		}
	}
	return publishedRevision{planDigest: r.Spec.PlanDigest, contents: r.Spec.Contents, revision: v}, nil
}
