package application_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// The ordinals of a StatefulSet may begin above 0 (spec.ordinals.start): a unit returns whose ordinal is among them, and one
// whose ordinal is not has been scaled down, at either end (SAFETY.md A2).
func TestOrdinalsThatBeginAboveZero(t *testing.T) {
	var units []application.Unit
	next := 0
	number := func(first, replicas int, pods ...string) map[int]string {
		a := deployed(application.StatefulSet, replicas, pods...)
		a.Workloads[0].First = first
		units, next = application.Number(a, units, next, time.Unix(0, 0))
		gone := map[int]string{}
		for _, u := range units {
			gone[u.Number] = u.Gone
		}
		return gone
	}
	assert.Equal(t, map[int]string{5: "", 6: ""}, number(5, 2, "web-5", "web-6"))
	assert.Equal(t, map[int]string{5: "", 6: ""}, number(5, 2, "web-6"), "web-5 is between two pods")
	assert.Equal(t, map[int]string{5: "", 6: application.GoneScaledDown}, number(5, 1, "web-5"))
	assert.Equal(t, application.GoneScaledDown, number(7, 1, "web-7")[5], "the first one has moved")
}
