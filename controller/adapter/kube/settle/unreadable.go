package settle

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/event"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// markable is an object that shows by its conditions that it cannot be read.
type markable interface {
	client.Object
	SetConditions(all []condition.Condition, now time.Time)
}

// mark writes the conditions of an unreadable object. It reads the object from the API server, since a
// write would delete what the cache leaves out.
func (w writer) mark(ctx context.Context, namespace string, d relation.Mark) error {
	kinds := map[string]markable{
		relation.KindRelation: &v1alpha1.Relation{}, relation.KindRecord: &v1alpha1.RelatedApplication{}, relation.KindDatabag: &v1alpha1.Databag{},
	}
	o, known := kinds[d.Kind]
	if !known {
		return fmt.Errorf("cannot mark %s %s: its kind is not known here", d.Kind, d.Name)
	}
	err := w.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: d.Name}, o)
	if err != nil || string(o.GetUID()) != d.UID {
		return client.IgnoreNotFound(err)
	}
	o.SetConditions(d.Conditions, w.now())
	if err := w.client.Status().Update(ctx, o); err != nil {
		return fmt.Errorf("cannot write the conditions of %s %s: %w", d.Kind, d.Name, err)
	}
	w.latest.wrote(o)
	w.events.warning(o, event.Invalid, condition.Why(d.Conditions).Message)
	return nil
}
