package views

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/golang/glog"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// StoreRevisions reads the revisions of the store itself.
type StoreRevisions struct {
	// Reader reads from the API server, not from a cache.
	Reader client.Reader
}

// Revisions returns the present revision of the store for each kind that views show.
func (l StoreRevisions) Revisions(ctx context.Context) (map[string]uint64, error) {
	all := map[string]uint64{}
	for kind, list := range map[string]client.ObjectList{
		"relations": &v1alpha1.RelationList{}, "relatedapplications": &v1alpha1.RelatedApplicationList{},
		"relationsides": &v1alpha1.RelationSideList{}, "databags": &v1alpha1.DatabagList{}, "offers": &v1alpha1.OfferList{},
	} {
		if err := l.Reader.List(ctx, list, client.Limit(1)); err != nil {
			return nil, fmt.Errorf("cannot list %s: %w", kind, err)
		}
		all[kind] = object.ParseRevision(list.GetResourceVersion())
	}
	return all, nil
}

// ErrWentBack reports that the store has an earlier revision than this replica: it was restored. A watch that goes on from
// the later one shows nothing, in silence, so that all must be read anew.
var ErrWentBack = errors.New("the store was restored to an earlier state: this process must begin anew")

// compareEvery is the longest pause between two comparisons with the store.
const compareEvery = 10 * time.Second

// Guard compares this replica with the store every 10 s and whenever a watch begins anew, until ctx ends. It fails with
// ErrWentBack.
func (v *Views) Guard(ctx context.Context, store StoreRevisions, watches <-chan struct{}) error {
	tick := time.NewTicker(compareEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-watches:
		}
		own := v.CaughtUp() // first: the store is later at any time after
		live, err := store.Revisions(ctx)
		if err != nil {
			glog.Warningf("cannot compare with the store: %v", err)
			continue
		}
		for kind, revision := range live {
			if own[kind] > revision {
				return fmt.Errorf("%w: %s are known at revision %d, and stored at %d", ErrWentBack, kind, own[kind], revision)
			}
		}
	}
}
