package conversation_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// crowd is what one unit sees of so many others, each of which says ten things.
func crowd(units int) conversation.Snapshot {
	r := db()
	for i := range units {
		said := bag{}
		for k := range 10 {
			said["key-"+strconv.Itoa(k)] = strings.Repeat("x", 20) + strconv.Itoa(i)
		}
		r.Units = append(r.Units, conversation.Member{Unit: conversation.Unit{Application: "db", Number: i}, Bag: contents.Put(said)})
	}
	return sees(saying(r, bag{"url": "postgres://db"}))
}

// hearAll tells a unit all that it is owed, and returns how many events that are.
func hearAll(m conversation.Memory, s conversation.Snapshot) (conversation.Memory, int) {
	told := 0
	m = m.Observe(s)
	for e, owed := conversation.Next(m, s); owed; e, owed = conversation.Next(m, s) {
		m = m.After(e, s)
		told++
	}
	return m, told
}

// BenchmarkNext is one unit with 100 others: a look at which nothing is new, one
// at which the last of them has changed, and a first join from nothing to its end.
func BenchmarkNext(b *testing.B) {
	s := crowd(100)
	settled, _ := hearAll(conversation.Memory{}, s)
	changed := crowd(100)
	last := &changed.Relations[0].Units[99].Bag
	*last = contents.Put(databag.Overlay(changed.Bag(*last), bag{"key-3": "other"}))
	b.Run("settled", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			conversation.Next(settled, s)
		}
	})
	b.Run("changed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e, _ := conversation.Next(settled, changed)
			settled.After(e, changed)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("first join", func(b *testing.B) {
		b.ReportAllocs()
		events := 0
		for b.Loop() {
			_, told := hearAll(conversation.Memory{}, s)
			events += told
		}
		b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	})
}

// BenchmarkFirstJoin is 100 units that join 100 others, one by one and as one
// event each (RELATIONS.md E12).
func BenchmarkFirstJoin(b *testing.B) {
	for _, together := range []bool{false, true} {
		b.Run(fmt.Sprintf("batch=%t", together), func(b *testing.B) {
			s := crowd(100)
			s.Batch = together
			b.ReportAllocs()
			events := 0
			for b.Loop() {
				events = 0
				for range 100 {
					_, told := hearAll(conversation.Memory{}, s)
					events += told
				}
			}
			b.ReportMetric(float64(events), "events")
		})
	}
}
