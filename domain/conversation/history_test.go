package conversation_test

import (
	"math/bits"
	"slices"
	"strconv"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// A history is random things that happen to few enough units, keys and values
// that they meet.

// replica is a cache of the store that lags behind: what it shows each unit is of
// one revision, and it only goes on.
type replica struct {
	revision int
	shows    map[conversation.Unit]conversation.Snapshot
}

// stage is a world and the replicas that tell of it.
type stage struct {
	*world
	replicas [2]replica
	next     map[string]int
}

func newStage() *stage {
	s := &stage{world: newWorld(), next: map[string]int{"web": 2, "db": 1, "cache": 0}}
	for i := range s.replicas {
		s.catchUp(i)
	}
	return s
}

// catchUp makes a replica see what is stored now.
func (s *stage) catchUp(i int) {
	r := replica{s.revision, make(map[conversation.Unit]conversation.Snapshot, len(s.units))}
	for u := range s.units {
		r.shows[u] = s.snapshot(u)
	}
	s.replicas[i] = r
}

// happen lets one thing happen.
func (s *stage) happen(t *rapid.T) {
	switch upTo(t, 20, "event") {
	case 0:
		s.come(t)
	case 1:
		s.leave(t)
	case 2:
		s.turn(t)
	case 3:
		if all := s.everybody(); len(all) > 0 {
			if u := oneOf(t, all, "leader"); s.units[u].leaving == "" {
				s.lead(u)
			}
		}
	case 4:
		if len(s.relations) < 5 {
			s.relate(oneOf(t, []string{"db", "cache"}, "again"))
		}
	case 5:
		s.bury()
	case 6, 7, 8, 9:
		s.write(t)
	case 10, 11, 12:
		s.catchUp(upTo(t, 2, "replica"))
	case 13, 14, 15:
		s.show(t)
	default:
		s.listen(t)
	}
}

// come makes a new unit, or of db, a StatefulSet, one that was there before.
func (s *stage) come(t *rapid.T) {
	application := oneOf(t, applications(), "application")
	if len(s.of(application)) >= 3 {
		return
	}
	u := conversation.Unit{Application: application, Number: s.next[application]}
	s.next[application]++
	if application == "db" {
		for u.Number = 0; s.units[u] != nil; u.Number++ {
			continue
		}
	}
	s.arrive(u)
}

// leave begins or ends the end of a unit.
func (s *stage) leave(t *rapid.T) {
	all := s.everybody()
	if len(all) == 0 {
		return
	}
	u := oneOf(t, all, "unit")
	reason := oneOf(t, []conversation.Reason{conversation.ScaledDown, conversation.Replaced, conversation.ApplicationRemoved}, "reason")
	if s.units[u].leaving == "" && rapid.Bool().Draw(t, "slowly") {
		s.units[u] = &pod{leaving: reason}
		s.revision++
		s.elect()
		return
	}
	s.depart(u, reason)
}

// turn suspends, resumes or ends a relation of two applications.
func (s *stage) turn(t *rapid.T) {
	l := oneOf(t, s.relations, "relation")
	if l.peer() || l.life == conversation.Ending {
		return
	}
	switch upTo(t, 4, "life") {
	case 0:
		s.end(l)
	case 1:
		l.life = conversation.Alive
	default:
		l.life = conversation.Suspended
	}
	s.revision++
}

// write lets a handler of some unit write some keys, as far as it may, and shows
// the unit what it wrote (SAFETY.md V4).
func (s *stage) write(t *rapid.T) {
	all := s.everybody()
	if len(all) == 0 {
		return
	}
	a := s.agents[oneOf(t, all, "writer")]
	if len(a.shown.Relations) == 0 {
		return
	}
	handler := conversation.Begin(a.shown)
	r := oneOf(t, a.shown.Relations, "relation")
	app := rapid.Bool().Draw(t, "app")
	values := conversation.Bag{}
	for range 1 + upTo(t, 2, "keys") {
		values[oneOf(t, []string{"host", "port", secret}, "key")] = oneOf(t, []string{"", "1", "2"}, "value")
	}
	err := handler.Set(r.UID, app, values)
	allowed := r.Life == conversation.Alive && (!app || a.shown.Leader)
	require.Equal(t, allowed, err == nil, "%v", err)
	before := s.revision
	s.store(a.unit, handler.Commit(), "tool")
	if s.revision > before {
		a.deliver(s.revision, s.snapshot(a.unit))
	}
}

// show lets a replica, which may lag behind what the agent knows, show a unit what
// it has, perhaps twice, and perhaps not all of it.
func (s *stage) show(t *rapid.T) {
	from := s.replicas[upTo(t, 2, "replica")]
	var there []conversation.Unit
	for _, u := range s.everybody() {
		if _, shown := from.shows[u]; shown {
			there = append(there, u)
		}
	}
	if len(there) == 0 {
		return
	}
	u := oneOf(t, there, "listener")
	snapshot := from.shows[u]
	if upTo(t, 10, "partial") == 0 {
		snapshot = partial(t, snapshot)
	}
	for range 1 + upTo(t, 2, "times") {
		s.agents[u].deliver(from.revision, snapshot)
	}
}

// partial leaves out a relation, or a unit of one: it is unknown (SAFETY.md E13).
func partial(t *rapid.T, s conversation.Snapshot) conversation.Snapshot {
	if len(s.Relations) == 0 {
		return s
	}
	s.Relations = slices.Clone(s.Relations)
	i := upTo(t, len(s.Relations), "left out")
	r := &s.Relations[i]
	if n := len(r.Units); n > 0 && rapid.Bool().Draw(t, "unit only") {
		r.Units = slices.Delete(slices.Clone(r.Units), n-1, n)
		return s
	}
	s.Relations = slices.Delete(s.Relations, i, i+1)
	return s
}

// listen lets an agent tell some events, die over one, or start again, perhaps without its memory.
func (s *stage) listen(t *rapid.T) {
	all := s.everybody()
	if len(all) == 0 {
		return
	}
	a := s.agents[oneOf(t, all, "listener")]
	switch upTo(t, 16, "agent") {
	case 0:
		a.forget()
	case 1, 2:
		a.restart()
	case 3, 4:
		a.tell(t, true)
	default:
		for range 1 + upTo(t, 6, "events") {
			a.tell(t, false)
		}
	}
}

// upTo draws a number below n. All are as likely, so that a history of many things
// has some of each; rapid's own ranges prefer the lowest.
func upTo(t *rapid.T, n int, label string) int {
	drawn := 0
	for range bits.Len(uint(n)) + 1 {
		drawn *= 2
		if rapid.Bool().Draw(t, label) {
			drawn++
		}
	}
	return drawn % n
}

func oneOf[T any](t *rapid.T, all []T, label string) T {
	return all[upTo(t, len(all), label)]
}

// mostEvents is more than any unit can be owed at once.
const mostEvents = 200

// settle shows everybody all there is and lets them hear it, until nobody is owed
// anything.
func (s *stage) settle(t *rapid.T) {
	for range 4 {
		for _, u := range s.everybody() {
			a := s.agents[u]
			a.deliver(s.revision, s.snapshot(u))
			told := 0
			for a.tell(t, false) {
				told++
				require.Less(t, told, mostEvents, "telling comes to an end")
			}
			a.save(t)
		}
		s.bury()
	}
}

// describe names a unit's agent in a failure.
func (a *agent) describe() string {
	return a.unit.String() + " at revision " + strconv.Itoa(a.used)
}
