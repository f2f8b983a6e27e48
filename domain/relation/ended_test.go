package relation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A bare pod that has ended does not count as a workload; others of its application may have ended too.
func TestEnded(t *testing.T) {
	consumes := map[string]string{application.KeyConsumes: "db"}
	pod := func(name string, annotations map[string]string, finished bool, owner application.WorkloadKind) application.Pod {
		return application.Pod{Object: application.Object{Name: name, Annotations: annotations}, OwnerKind: owner, OwnerName: name, Finished: finished}
	}
	pods := []application.Pod{
		pod("once", consumes, true, application.BarePod), pod("runs", consumes, false, application.BarePod),
		pod("silent", nil, true, application.BarePod), pod("job-x", consumes, true, application.Job),
		pod("b", map[string]string{application.KeyConsumes: "db", application.KeyApplication: "night"}, true, application.BarePod),
		pod("a", map[string]string{application.KeyConsumes: "db", application.KeyApplication: "night"}, true, application.BarePod),
	}
	assert.Equal(t, map[string]string{"once": "once", "night": "a"}, relation.Ended(pods))
}
