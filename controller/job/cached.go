package job

import (
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// Cached returns what the cache holds of an object, which is without the names of its writers. A JobRun that is settled
// loses its input, its report and its messages too, which are most of it: what needs them reads them from the API server.
func Cached(object any) (any, error) {
	if named, err := meta.Accessor(object); err == nil {
		named.SetManagedFields(nil)
	}
	o, ok := object.(*v1alpha1.JobRun)
	if !ok || !settled(o) {
		return object, nil
	}
	end := *o.State.End
	end.Message = ""
	o.Annotations, o.State = nil, &v1alpha1.JobRunState{End: &end}
	ready := metav1.Condition{Type: string(condition.Ready), Reason: end.Reason, LastTransitionTime: metav1.NewTime(since(o))}
	o.Status.Conditions = []metav1.Condition{ready}
	for i := range o.OwnerReferences {
		owner := &o.OwnerReferences[i]
		share(&owner.APIVersion, &owner.Kind, &owner.Name, (*string)(&owner.UID))
	}
	share(&o.APIVersion, &o.Kind, &o.Namespace, &o.Spec.Workspace, &o.Spec.Action, &end.Reason, &ready.Reason,
		(*string)(&end.Phase), (*string)(&end.Outcome), (*string)(&o.Status.Phase))
	return o, nil
}

// share has equal texts of many Runs use the same memory.
func share(texts ...*string) {
	for _, text := range texts {
		*text = unique.Make(*text).Value()
	}
}

// settled reports whether a Run has ended, its status shows that, and nothing is left to do for it.
func settled(o *v1alpha1.JobRun) bool {
	if o.State == nil || o.State.End == nil || len(o.Finalizers) > 0 {
		return false
	}
	ready := meta.FindStatusCondition(o.Status.Conditions, string(condition.Ready))
	return o.Status.Phase == o.State.End.Phase && ready != nil && ready.Reason == o.State.End.Reason
}
