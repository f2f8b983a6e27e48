package value

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// SetConditions returns conditions as the API has them. One whose status does not change keeps its
// time.
func SetConditions(before []metav1.Condition, wanted []condition.Condition, generation int64, now time.Time) []metav1.Condition {
	old := map[string]metav1.Condition{}
	for _, c := range before {
		old[c.Type] = c
	}
	var all []metav1.Condition
	for _, c := range wanted {
		status := metav1.ConditionFalse
		if c.True {
			status = metav1.ConditionTrue
		}
		next := metav1.Condition{
			Type: string(c.Type), Status: status, Reason: c.Reason, Message: c.Message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		}
		if o, ok := old[next.Type]; ok && o.Status == status {
			next.LastTransitionTime = o.LastTransitionTime
		}
		all = append(all, next)
	}
	return all
}

// Why returns the condition Ready with its whole message, which Reconciling or Stalled carries where
// Ready has an abridged one.
func Why(all []metav1.Condition) (why metav1.Condition, found bool) {
	ready := meta.FindStatusCondition(all, string(condition.Ready))
	if ready == nil {
		return metav1.Condition{}, false
	}
	why = *ready
	why.Message = condition.Why(Conditions(all)).Message
	return why, true
}

// Conditions returns the conditions of an object as the domain has them.
func Conditions(all []metav1.Condition) []condition.Condition {
	var cs []condition.Condition
	for _, c := range all {
		cs = append(cs, condition.Condition{
			Type: condition.Type(c.Type), True: c.Status == metav1.ConditionTrue, Reason: c.Reason, Message: c.Message,
		})
	}
	return cs
}
