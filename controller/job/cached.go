package job

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// Cached returns what the cache holds of a JobRun: one that is settled loses its input, its report and its messages, which
// are most of it. What needs them reads them from the API server.
func Cached(object any) (any, error) {
	o, ok := object.(*v1alpha1.JobRun)
	if !ok {
		return object, nil
	}
	o.ManagedFields = nil
	if !settled(o) {
		return o, nil
	}
	o.Annotations = nil
	end := *o.State.End
	end.Message = ""
	o.State = &v1alpha1.JobRunState{End: &end}
	o.Status.Conditions = slices.Clone(o.Status.Conditions)
	for i, c := range o.Status.Conditions {
		o.Status.Conditions[i] = metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime}
	}
	return o, nil
}

// settled reports whether a Run has ended, its status shows that, and nothing is left to do for it.
func settled(o *v1alpha1.JobRun) bool {
	if o.State == nil || o.State.End == nil || len(o.Finalizers) > 0 {
		return false
	}
	ready := meta.FindStatusCondition(o.Status.Conditions, string(condition.Ready))
	return o.Status.Phase == o.State.End.Phase && ready != nil && ready.Reason == o.State.End.Reason
}
