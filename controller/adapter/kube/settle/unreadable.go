package settle

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/event"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// markable is an object that shows by its conditions that it cannot be read.
type markable struct {
	client.Object

	conditions *[]metav1.Condition
	// observed is the generation that the conditions describe.
	observed *int64
}

// markables returns an empty object of each kind that can be marked.
func markables() map[string]markable {
	r, a, b := &v1alpha1.Relation{}, &v1alpha1.RelatedApplication{}, &v1alpha1.Databag{}
	return map[string]markable{
		relation.KindRelation: {r, &r.Status.Conditions, &r.Status.ObservedGeneration},
		relation.KindRecord:   {a, &a.Status.Conditions, &a.Status.ObservedGeneration},
		relation.KindDatabag:  {b, &b.Status.Conditions, &b.Status.ObservedGeneration},
	}
}

// mark writes the conditions of an unreadable object. It reads the object from the API server, since a
// write would delete what the cache leaves out.
func (w writer) mark(ctx context.Context, namespace string, d relation.Mark) error {
	o, known := markables()[d.Kind]
	if !known {
		return fmt.Errorf("cannot mark %s %s: its kind is not known here", d.Kind, d.Name)
	}
	err := w.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: d.Name}, o.Object)
	if err != nil || string(o.GetUID()) != d.UID {
		return client.IgnoreNotFound(err)
	}
	*o.observed = o.GetGeneration()
	*o.conditions = value.SetConditions(*o.conditions, d.Conditions, o.GetGeneration(), w.now())
	if err := w.client.Status().Update(ctx, o.Object); err != nil {
		return fmt.Errorf("cannot write the conditions of %s %s: %w", d.Kind, d.Name, err)
	}
	w.latest.wrote(o.Object)
	w.events.warning(o.Object, event.Invalid, condition.Why(d.Conditions).Message)
	return nil
}
