package settle

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// keep stores one side of a relation. The id of a new one must be counted.
func (w writer) keep(ctx context.Context, d relation.Keep) error {
	side := convert.ForRelationSide(d.Side)
	stored, there, err := get(ctx, w.reader, w.latest, object.Named(&v1alpha1.RelationSide{}, side.Namespace, side.Name))
	if err = errors.Join(err, w.latest.unmoved(stored)); err != nil {
		return err
	}
	if !there {
		if err = errors.Join(w.counted(ctx, side.Namespace, d.ID), current(ctx, w.live, d.Side)); err == nil {
			err = w.client.Create(ctx, side)
		}
	} else if side, err = w.again(stored, d.Side); err == nil && side != stored {
		err = w.client.Update(ctx, side)
	}
	if err != nil {
		return fmt.Errorf("cannot write relation side %s: %w", side.Name, err)
	}
	w.latest.wrote(side)
	return nil
}

// current fails if the pair has a Relation of another identity. It was made by a write that had no answer, and no cache
// shows it yet: a side of the identity that was decided without it would keep it from having sides at all.
func current(ctx context.Context, live client.Reader, d relation.Side) error {
	r := convert.ForPair(d.Requirer.Namespace, relation.Pair{Key: d.Key})
	err := live.Get(ctx, client.ObjectKeyFromObject(r), r)
	if err == nil && r.State.Identity != "" && r.State.Identity != d.Relation {
		err = fmt.Errorf("relation %s has identity %s, not %s: this is decided again", r.Name, r.State.Identity, d.Relation)
	}
	return client.IgnoreNotFound(err)
}

// again returns a stored side in its next state; itself if that is the same.
func (w writer) again(stored *v1alpha1.RelationSide, d relation.Side) (*v1alpha1.RelationSide, error) {
	before, err := convert.ToRelationSide(stored)
	if err != nil {
		return stored, err
	}
	if before.Relation != d.Relation {
		return stored, fmt.Errorf("it is of relation %s, not of %s", before.Relation, d.Relation)
	}
	next := stored.DeepCopy()
	if convert.KeepRelationSide(next, d); equality.Semantic.DeepEqual(next, stored) {
		return stored, nil
	}
	return next, nil
}

// drop deletes one side of a relation after its bags.
func (w writer) drop(ctx context.Context, namespace string, d relation.Drop) error {
	side, there, err := get(ctx, w.reader, w.latest, object.Named(&v1alpha1.RelationSide{}, namespace, d.Name()))
	if err != nil || !there || side.Spec.Relation != d.Relation {
		return err
	}
	if err := w.latest.unmoved(side); err != nil { // else its bags go, and it stays
		return err
	}
	if err := w.withdraw(ctx, namespace, d.Bags...); err != nil {
		return err
	}
	return w.delete(ctx, side)
}
