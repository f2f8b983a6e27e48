package crowd

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TRUST.md U3: who holds the most gives way, and who holds little is admitted.
func TestAdmit(t *testing.T) {
	tests := map[string]struct {
		why        string
		each, all  int
		before     []string
		holder     string
		evicted    int
		admitted   bool
		membersNow int
	}{
		"First":     {why: "there is room", each: 2, all: 4, holder: "a", evicted: -1, admitted: true, membersNow: 1},
		"Each":      {why: "a holder has its bound alone", each: 2, all: 4, before: []string{"a", "a"}, holder: "a", evicted: -1, membersNow: 2},
		"Total":     {why: "the largest gives up its oldest", all: 4, before: []string{"b", "a", "a", "a"}, holder: "c", evicted: 1, admitted: true, membersNow: 4},
		"Own":       {why: "the largest itself gets no more", all: 4, before: []string{"b", "a", "a", "a"}, holder: "a", evicted: -1, membersNow: 4},
		"AsMany":    {why: "what began first goes on, else none would ever finish", all: 3, before: []string{"a", "b", "c"}, holder: "d", evicted: -1, membersNow: 3},
		"OneMore":   {why: "two holders do not take from each other in turns", all: 3, before: []string{"a", "a", "b"}, holder: "b", evicted: -1, membersNow: 3},
		"Unbounded": {why: "0 is no bound", before: []string{"a", "a", "a"}, holder: "a", evicted: -1, admitted: true, membersNow: 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := Crowd[int]{Each: test.each, Total: test.all}
			for i, holder := range test.before {
				_, admitted := c.Admit(holder, i)
				assert.True(t, admitted)
			}
			evicted, admitted := c.Admit(test.holder, len(test.before))
			assert.Equal(t, test.admitted, admitted, test.why)
			if test.evicted < 0 {
				assert.Nil(t, evicted, test.why)
			} else if assert.NotNil(t, evicted, test.why) {
				assert.Equal(t, test.evicted, *evicted, test.why)
			}
			assert.Equal(t, test.membersNow, c.Members(), test.why)
		})
	}
}

// TRUST.md U3: no order of arrivals exceeds a bound, and a newcomer is refused only if no one holds two more than it.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Crowd[int]{Each: rapid.IntRange(1, 5).Draw(t, "each"), Total: rapid.IntRange(1, 12).Draw(t, "total")}
		held := map[int]string{}
		count := func(holder string) (n int) {
			for _, h := range held {
				if h == holder {
					n++
				}
			}
			return n
		}
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			holder := fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "holder"))
			if rapid.Bool().Draw(t, "leaves") {
				c.Leave(holder, i-1)
				if held[i-1] == holder {
					delete(held, i-1)
				}
				continue
			}
			own := count(holder)
			evicted, admitted := c.Admit(holder, i)
			if evicted != nil {
				assert.Greater(t, count(held[*evicted]), own+1)
				delete(held, *evicted)
			}
			if admitted {
				held[i] = holder
			} else if own < c.Each {
				for h := range 6 {
					assert.LessOrEqual(t, count(fmt.Sprint(h)), own+1)
				}
			}
			assert.Len(t, held, c.Members())
			assert.LessOrEqual(t, c.Members(), c.Total)
			assert.LessOrEqual(t, count(holder), c.Each)
		}
	})
}
