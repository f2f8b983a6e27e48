package relation

import (
	"reflect"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Answered returns the departures after a unit has answered, and whether any is now
// another.
func Answered(all []conversation.Departure, by conversation.Unit, answers []conversation.Answer) (
	after []conversation.Departure, differs bool) {
	after = slices.Clone(all)
	for i, d := range all {
		for _, a := range answers {
			after[i] = after[i].Answered(by, a)
		}
		differs = differs || !reflect.DeepEqual(d, after[i])
	}
	return after, differs
}
