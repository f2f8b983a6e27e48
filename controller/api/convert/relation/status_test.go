package relation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// What was said is read as it was said.
func TestStatusRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		info := status.Info{
			State: rapid.SampledFrom(status.States()).Draw(t, "state"), Message: maybe(names()).Draw(t, "message"),
			Code: maybe(names()).Draw(t, "code"), Resolution: maybe(names()).Draw(t, "resolution"), Since: seconds().Draw(t, "since"),
		}
		side := stored(t, ForSide(info, 3))
		assert.Equal(t, info, ToSideStatus(side))
		info.Code, info.Resolution = "", ""
		assert.Equal(t, info, ToStatus(stored(t, ForWorkload(info))))
		failure := status.Failure{
			Event: names().Draw(t, "event"), Relation: maybe(names()).Draw(t, "relation"), Said: maybe(names()).Draw(t, "said"),
			Attempts: rapid.IntRange(1, 1000).Draw(t, "attempts"), Since: seconds().Draw(t, "first"),
		}
		assert.Equal(t, failure, ToFailure(stored(t, ForFailure(failure))))
	})
	assert.Nil(t, ForWorkload(status.Info{}))
	assert.Nil(t, ForFailure(status.Failure{}))
	assert.Equal(t, status.Info{}, ToSideStatus((*v1alpha1.SideStatus)(nil)))
}

// A look at the past does not overwrite what pods have said since: it ends with the
// pod alone (SAFETY.md D11).
func TestWhatIsSaidStays(t *testing.T) {
	at := metav1.NewTime(time.Unix(100, 0))
	said := &v1alpha1.WorkloadStatus{State: "active", ReportTime: at}
	failing := &v1alpha1.Failure{Event: "db-relation-changed (db)", Attempts: 1, StartTime: at}
	report := func(number int64, pod string) v1alpha1.Report {
		return v1alpha1.Report{Unit: number, PodUID: pod, Workload: said, Failure: failing}
	}
	a := &v1alpha1.RelatedApplication{
		State: v1alpha1.RelatedApplicationState{LastTerm: 2},
		Status: v1alpha1.RelatedApplicationStatus{
			Workload: said, Leader: &v1alpha1.Leader{Term: 2}, Reports: []v1alpha1.Report{report(0, "a"), report(1, "b"), report(2, "c")},
		},
	}
	is := relation.ApplicationState{Units: []application.Unit{{Number: 0, PodUID: "a"}, {Number: 1, PodUID: "b", Gone: application.GoneReplaced}, {Number: 2, PodUID: "d"}}}
	KeepApplication(a, relation.Record{State: is})
	SetApplication(a, is, at.Time)
	assert.Equal(t, said, a.Status.Workload)
	assert.EqualValues(t, 2, a.Status.Leader.Term)
	assert.EqualValues(t, 2, a.State.LastTerm)
	assert.Equal(t, []v1alpha1.Report{report(0, "a")}, a.Status.Reports, "a pod has gone, and another has the number")

	r := &v1alpha1.Relation{State: v1alpha1.RelationState{ID: 1}, Status: v1alpha1.RelationStatus{RequirerStatus: ForSide(status.Info{State: status.Active}, 1)}}
	SetRelation(r, relation.State{}, at.Time)
	assert.NotNil(t, r.Status.RequirerStatus)
}
