package relation

import (
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// ToPublished returns the document of an Interface.
func ToPublished(i *v1alpha1.Interface) (schema.Published, error) {
	document, err := i.Spec.MarshalJSON()
	return schema.Published{Object: i.Name, Document: string(document), Changed: i.Generation > 1}, err
}

// SetInterface writes the conditions and the origin into the status.
func SetInterface(i *v1alpha1.Interface, conditions []condition.Condition, now time.Time) {
	i.Status.ObservedGeneration = i.Generation
	i.Status.Origin = originOf(conditions)
	i.Status.Conditions = value.SetConditions(i.Status.Conditions, conditions, i.Generation, now)
}

// originOf returns which definition is in force, by the reason of condition Ready.
func originOf(conditions []condition.Condition) string {
	ready, _ := condition.Find(conditions, condition.Ready)
	switch {
	case ready.True:
		return v1alpha1.OriginCluster
	case ready.Reason == schema.ReasonBuiltIn:
		return v1alpha1.OriginBuiltIn
	default:
		return ""
	}
}
