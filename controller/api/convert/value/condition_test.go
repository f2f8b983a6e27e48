package value

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// The time of a condition is that of its last change.
func TestConditionTimes(t *testing.T) {
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	all := SetConditions(nil, condition.Waiting("NoData", "nothing yet"), 1, early)
	all = SetConditions(all, condition.Waiting("NoApplication", "nobody"), 2, late)
	for _, c := range all {
		assert.Equal(t, metav1.NewTime(early), c.LastTransitionTime, "another reason is no transition: %s", c.Type)
		assert.Equal(t, "NoApplication", c.Reason)
		assert.EqualValues(t, 2, c.ObservedGeneration)
	}
	all = SetConditions(all, condition.Settled("Complete", "all"), 2, late)
	i := slices.IndexFunc(all, func(c metav1.Condition) bool { return c.Type == "Ready" })
	assert.Equal(t, metav1.NewTime(late), all[i].LastTransitionTime)
}
