package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Lacks returns what the workloads of a plan read and neither the bundle nor the cluster
// has. unread are those that the account may not read, and that are taken to be there.
func (w *World) Lacks(ctx context.Context, p bundle.Plan) (lacks []bundle.Lack, unread []bundle.ID, err error) {
	var ids []bundle.ID
	for _, reading := range p.Sequence.Readings() {
		if !slices.Contains(ids, reading.ID) {
			ids = append(ids, reading.ID)
		}
	}
	keys, unread, err := w.keys(ctx, ids)
	lacks = slices.DeleteFunc(p.Lacks(keys), func(l bundle.Lack) bool { return slices.Contains(unread, l.ID) })
	return lacks, unread, err
}

// keys returns the names of the keys of those that are there, if they have any; each is
// read by its name, and no value leaves this function (BUNDLES.md 10). unread are those that
// the user may not read.
func (w *World) keys(ctx context.Context, ids []bundle.ID) (keys map[bundle.ID][]string, unread []bundle.ID, err error) {
	keys = map[bundle.ID][]string{}
	var mu sync.Mutex
	err = each(ctx, ids, func(ctx context.Context, id bundle.ID) error {
		o, _, err := w.live(ctx, id, "v1")
		mu.Lock()
		defer mu.Unlock()
		switch {
		case apierrors.IsForbidden(err):
			unread = append(unread, id)
			return nil
		case err != nil || o == nil:
			return err
		}
		keys[id] = []string{}
		for _, field := range []string{"data", "binaryData"} {
			values, _ := o.Object[field].(map[string]any)
			keys[id] = slices.AppendSeq(keys[id], maps.Keys(values))
		}
		slices.Sort(keys[id])
		return nil
	})
	slices.SortFunc(unread, bundle.ID.Compare)
	return keys, unread, err
}
