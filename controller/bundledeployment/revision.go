package bundledeployment

import (
	"context"
	"fmt"
	"maps"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// published remembers what the BundleRevisions of each deployment say, so that they need
// not be read each time.
type published struct {
	mu    sync.Mutex
	known map[types.UID]map[int]domain.Revision
}

// of returns what is known to be published for a deployment; nil where nothing is known.
func (p *published) of(uid types.UID) map[int]domain.Revision {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.known[uid])
}

func (p *published) set(uid types.UID, revisions map[int]domain.Revision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[types.UID]map[int]domain.Revision{}
	}
	p.known[uid] = revisions
}

func (p *published) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, uid)
}

// publishRevisions makes an object of each revision that is stored, and deletes those of
// revisions that are not any more.
func (j *job) publishRevisions(ctx context.Context) error {
	uid := j.deployment.UID
	known := j.published.of(uid)
	if known == nil {
		var err error
		if known, err = j.found(ctx); err != nil {
			return err
		}
	}
	stored := map[int]bool{}
	for _, v := range j.engine.Record().Revisions {
		stored[v.Number] = true
		if known[v.Number] == v {
			continue
		}
		if err := j.publishRevision(ctx, v); err != nil {
			return fmt.Errorf("cannot write revision %d: %w", v.Number, err)
		}
		known[v.Number] = v
	}
	for number := range known {
		if stored[number] {
			continue
		}
		r := &v1alpha1.BundleRevision{}
		r.Namespace, r.Name = j.deployment.Namespace, j.deployment.RevisionName(number)
		if err := j.Client.Delete(ctx, r); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot delete revision %d: %w", number, err)
		}
		delete(known, number)
	}
	j.published.set(uid, known)
	return nil
}

// found are the numbers of the revisions that are there, by whoever was at work before.
func (j *job) found(ctx context.Context) (map[int]domain.Revision, error) {
	var all v1alpha1.BundleRevisionList
	if err := j.Client.List(ctx, &all, client.InNamespace(j.deployment.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list revisions: %w", err)
	}
	known := map[int]domain.Revision{}
	for i := range all.Items {
		if r := &all.Items[i]; r.Spec.Deployment == j.deployment.Name {
			known[int(r.Spec.Revision)] = domain.Revision{}
		}
	}
	return known, nil
}

func (j *job) publishRevision(ctx context.Context, v domain.Revision) error {
	var r v1alpha1.BundleRevision
	err := j.Client.Get(ctx, client.ObjectKey{Namespace: j.deployment.Namespace, Name: j.deployment.RevisionName(v.Number)}, &r)
	if apierrors.IsNotFound(err) {
		p, err := j.engine.Store.Plan(ctx, v.Number)
		if err != nil {
			return err
		}
		r = *j.deployment.ForRevision(v, p)
		if err := j.Client.Create(ctx, &r); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if !r.SetState(v) {
		return nil
	}
	return j.Client.Status().Update(ctx, &r)
}
