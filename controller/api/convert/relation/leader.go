package relation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
)

// ToLeader returns the leader of an application.
func ToLeader(a *v1alpha1.RelatedApplication) leadership.Leader {
	l := a.Status.Leader
	if l == nil {
		return leadership.Leader{}
	}
	return leadership.Leader{Unit: int(l.Unit), PodUID: l.PodUID, Term: int(l.Term), Expires: l.ExpirationTime.UTC()}
}

// SetLeader writes the leader into the status, to the microsecond.
func SetLeader(a *v1alpha1.RelatedApplication, l leadership.Leader) {
	a.Status.Leader = &v1alpha1.Leader{Unit: int64(l.Unit), PodUID: l.PodUID, Term: int64(l.Term), ExpirationTime: metav1.NewMicroTime(l.Expires)}
}
