package negotiation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSoonest(t *testing.T) {
	early, late := at(), at().Add(time.Second)
	tests := map[string]struct {
		why   string
		times []time.Time
		want  time.Time
	}{
		"None":     {why: "zero is never"},
		"AllNever": {why: "so are all", times: []time.Time{{}, {}}},
		"One":      {why: "the only one", times: []time.Time{{}, late, {}}, want: late},
		"First":    {why: "whatever the order", times: []time.Time{early, late}, want: early},
		"Last":     {why: "whatever the order", times: []time.Time{late, {}, early}, want: early},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, soonest(tc.times...), tc.why) })
	}
}
