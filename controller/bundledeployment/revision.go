package bundledeployment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// published remembers what the BundleRevisions of each deployment say, so that they need
// not be read each time.
type published struct {
	mu    sync.Mutex
	known map[types.UID]map[int]face
}

// face is what a BundleRevision says.
type face struct {
	// planDigest and contents never change.
	planDigest string
	contents   []string
	// told is what its status was written from by this process.
	told domain.Revision
}

// of returns what is known to be published for a deployment; nil where nothing is known.
func (p *published) of(uid types.UID) map[int]face {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.known[uid])
}

func (p *published) set(uid types.UID, revisions map[int]face) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[types.UID]map[int]face{}
	}
	p.known[uid] = revisions
}

func (p *published) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, uid)
}

// faces are what is published for the deployment, read once in the life of a process.
func (j *job) faces(ctx context.Context) (map[int]face, error) {
	if known := j.published.of(j.deployment.UID); known != nil {
		return known, nil
	}
	var all v1alpha1.BundleRevisionList
	if err := j.Client.List(ctx, &all, client.InNamespace(j.deployment.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list revisions: %w", err)
	}
	known := map[int]face{}
	for i := range all.Items {
		if r := &all.Items[i]; r.Spec.Deployment == j.deployment.Name && metav1.IsControlledBy(r, j.deployment) {
			known[int(r.Spec.Revision)] = face{planDigest: r.Spec.PlanDigest, contents: r.Spec.Contents}
		}
	}
	j.published.set(j.deployment.UID, known)
	return known, nil
}

// forged says of which revision the record is not what was published: who may write the
// namespace's Secrets cannot put other content under an approval. 0 is none.
func (j *job) forged(known map[int]face) int {
	for _, v := range j.engine.Record().Revisions {
		f, there := known[v.Number]
		if there && (f.planDigest != v.PlanDigest || !slices.Equal(f.contents, j.store.Contents(v.Number))) {
			return v.Number
		}
	}
	return 0
}

// publishRevisions makes an object of each revision that is stored, and deletes those of
// revisions that are not any more.
func (j *job) publishRevisions(ctx context.Context) error {
	known, err := j.faces(ctx)
	if err != nil {
		return err
	}
	stored := map[int]bool{}
	for _, v := range j.engine.Record().Revisions {
		stored[v.Number] = true
		if known[v.Number].told == v {
			continue
		}
		if known[v.Number], err = j.publishRevision(ctx, v); err != nil {
			return fmt.Errorf("cannot write revision %d: %w", v.Number, err)
		}
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
	j.published.set(j.deployment.UID, known)
	return nil
}

func (j *job) publishRevision(ctx context.Context, v domain.Revision) (face, error) {
	var r v1alpha1.BundleRevision
	err := j.Client.Get(ctx, client.ObjectKey{Namespace: j.deployment.Namespace, Name: convert.RevisionName(j.deployment, v.Number)}, &r)
	if apierrors.IsNotFound(err) {
		p, err := j.engine.Store.Plan(ctx, v.Number)
		if err != nil {
			return face{}, err
		}
		r = *convert.ForRevision(j.deployment, v, p, j.store.Contents(v.Number))
		r.Spec.Content = int64(j.engine.Record().Twin(v))
		if err := j.Client.Create(ctx, &r); err != nil {
			return face{}, err
		}
	} else if err != nil {
		return face{}, err
	}
	if !metav1.IsControlledBy(&r, j.deployment) {
		return face{}, fmt.Errorf("BundleRevision %s belongs to another deployment: if that was deleted, the cluster removes it soon; else "+
			"delete it", r.Name)
	}
	if convert.SetRevision(&r, v) {
		if err := j.Client.Status().Update(ctx, &r); err != nil {
			return face{}, err
		}
	}
	return face{planDigest: r.Spec.PlanDigest, contents: r.Spec.Contents, told: v}, nil
}
