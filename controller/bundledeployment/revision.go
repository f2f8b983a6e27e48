package bundledeployment

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// revisions are the BundleRevisions of a deployment.
type revisions struct{ *job }

// publishedRevision has the parts of a BundleRevision that are compared.
type publishedRevision struct {
	// planDigest and contents never change.
	planDigest string
	contents   []string
	// begun reports that it was published as carried out, as only the controller can do.
	begun bool
	// revision is the revision from which this process wrote the status.
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
			known[int(r.Spec.Revision)] = publishedRevision{planDigest: r.Spec.PlanDigest, contents: r.Spec.Contents, begun: convert.Begun(r)}
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
		if err := j.publishOne(ctx, v, nil, j.store.Contents(v.Number)); err != nil {
			return err
		}
	}
	for number := range known {
		if stored[number] {
			continue
		}
		if err := j.withdraw(ctx, number); err != nil {
			return err
		}
	}
	return nil
}

// withdraw deletes the BundleRevision of a revision.
func (j revisions) withdraw(ctx context.Context, number int) error {
	r := &v1alpha1.BundleRevision{}
	r.Namespace, r.Name = j.deployment.Namespace, convert.RevisionName(j.deployment, number)
	if err := j.Client.Delete(ctx, r); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete revision %d: %w", number, err)
	}
	delete(j.memory.revisions, number)
	return nil
}

// publishOne writes the BundleRevision of a revision, and its status. p has its objects; nil if they
// are stored.
func (j revisions) publishOne(ctx context.Context, v domain.Revision, p *domain.Plan, contents []string) error {
	r, err := j.found(ctx, v, p, contents)
	if err == nil && !metav1.IsControlledBy(r, j.deployment) {
		err = fmt.Errorf("BundleRevision %s belongs to another deployment: if that was deleted, the cluster removes it soon; else delete it",
			r.Name)
	}
	if err == nil && convert.SetRevision(r, v) {
		err = j.Client.Status().Update(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("cannot write revision %d: %w", v.Number, err)
	}
	j.memory.revisions[v.Number] = publishedRevision{
		planDigest: r.Spec.PlanDigest, contents: r.Spec.Contents, begun: convert.Begun(r), revision: v,
	}
	return nil
}

// found returns the BundleRevision of a revision, which is created if there is none.
func (j revisions) found(ctx context.Context, v domain.Revision, p *domain.Plan, contents []string) (*v1alpha1.BundleRevision, error) {
	r := &v1alpha1.BundleRevision{}
	err := j.Client.Get(ctx, client.ObjectKey{Namespace: j.deployment.Namespace, Name: convert.RevisionName(j.deployment, v.Number)}, r)
	if !apierrors.IsNotFound(err) {
		return r, err
	}
	if p == nil {
		stored, err := j.store.Plan(ctx, v.Number)
		if err != nil {
			return nil, err
		}
		p = &stored
	}
	r = convert.ForRevision(j.deployment, v, *p, contents)
	r.Spec.Content = int64(j.engine.Record().Twin(v))
	return r, j.Client.Create(ctx, r)
}
