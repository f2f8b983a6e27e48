package object_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// led is an application with a leader and a unit that reports.
func led() *v1alpha1.RelatedApplication {
	reported := &v1alpha1.WorkloadStatus{State: "active"}
	return &v1alpha1.RelatedApplication{
		State: v1alpha1.RelatedApplicationState{Units: []v1alpha1.Unit{{Number: 1, PodUID: "a"}, {Number: 2, PodUID: "b", DepartureReason: "replaced"}}},
		Status: v1alpha1.RelatedApplicationStatus{
			Leader: &v1alpha1.Leader{PodUID: "a", Term: 2}, Workload: reported, Reports: []v1alpha1.Report{{PodUID: "a", Unit: 1, Workload: reported}},
		},
	}
}

// Most writes of an application renew a term or report a status. They wake no other namespace.
func TestOnly(t *testing.T) {
	tests := map[string]struct {
		change           func(*v1alpha1.RelatedApplication)
		renews, reported bool
	}{
		"Renewed": {change: func(a *v1alpha1.RelatedApplication) {
			a.ResourceVersion, a.Status.Leader.ExpirationTime = "2", metav1.NewMicroTime(time.Unix(9, 0))
		}, renews: true},
		"Led by another": {change: func(a *v1alpha1.RelatedApplication) { a.Status.Leader.Term = 3 }},
		"Reported": {change: func(a *v1alpha1.RelatedApplication) {
			a.ResourceVersion, a.Status.Reports[0].Workload, a.Status.Workload = "2", nil, nil
		}, reported: true},
		"Failing": {change: func(a *v1alpha1.RelatedApplication) {
			a.Status.Reports[0].Failure = &v1alpha1.Failure{Event: "e"}
		}, reported: true},
		"Gone":    {change: func(a *v1alpha1.RelatedApplication) { a.State.Units[0].DepartureReason = "scaled-down" }},
		"Nothing": {change: func(*v1alpha1.RelatedApplication) {}, renews: true, reported: true},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			before, after := led(), led()
			tc.change(after)
			assert.Equal(t, tc.renews, object.OnlyRenews(after, before))
			assert.Equal(t, tc.reported, object.OnlyReports(after, before))
			assert.Equal(t, led(), before, "nothing is written into what is compared")
		})
	}
}

func TestUnitOfPod(t *testing.T) {
	a := led()
	unit, lives := object.UnitOfPod(a, "a")
	assert.True(t, lives)
	assert.Same(t, &a.State.Units[0], unit)
	for _, uid := range []string{"b", "c"} {
		_, lives := object.UnitOfPod(a, uid)
		assert.False(t, lives, "gone, or of another application")
	}
}

// The time of a unit's end is for people: no other application's agents are woken for it.
func TestSameToOthers(t *testing.T) {
	u := v1alpha1.Unit{Number: 1, PodUID: "a", DepartureTime: &metav1.Time{}, TerminationReason: "scaled-down"}
	assert.True(t, object.SameToOthers(u, v1alpha1.Unit{Number: 1, PodUID: "a"}))
	assert.False(t, object.SameToOthers(u, v1alpha1.Unit{Number: 1, PodUID: "a", Address: "10.0.0.1"}))
}
