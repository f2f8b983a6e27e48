package integrationset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Guard bounds the workloads that go without a person's confirmation: those of deleted members, shards that are no
// longer declared, and replicas that become 0 (FLEET-DESIGN.md 5). Both bounds hold.
type Guard struct {
	// Workloads bounds their number, Percent their share of all that stand.
	Workloads, Percent int
}

// Removal describes workloads that would go, and that a person has to confirm.
type Removal struct {
	// Digest identifies the members and their losses; a confirmation names it.
	Digest string
	// Workloads go, of so many.
	Workloads, Of int
	// Losses are the workloads that each member loses; a person confirms them all at once.
	Losses map[Key]int
	// why is the reason for the wait, and command what confirms the removal; "" for the digest alone.
	why, command string
}

// String names what would go, the reason for the wait, and the cure.
func (r Removal) String() string {
	if r.command != "" {
		return fmt.Sprintf("%d of %d workloads would go: %s: put it back into the data, or confirm: %s%s",
			r.Workloads, r.Of, r.why, r.command, r.Digest)
	}
	return fmt.Sprintf("%d of %d workloads would go: %s; confirm %s, or put them back into the data", r.Workloads, r.Of, r.why, r.Digest)
}

// confirmed reports whether a person has confirmed all losses, or more. What a confirmed removal has not done yet
// when its process dies needs no second confirmation.
func (s Situation) confirmed(losses map[Key]int) bool {
	for k, lost := range losses {
		if of, known := s.Confirmed[k]; !known || lost > of {
			return false
		}
	}
	return true
}

// own names the member of losses as which the controller itself runs, whose removal no guard permits; "" for none.
func (s Situation) own(losses map[Key]int) string {
	for _, m := range s.Standing {
		if _, loses := losses[m.Key]; loses && m.Own {
			return m.String() + " runs this controller itself"
		}
	}
	return ""
}

// digestSize is the number of bytes of a checksum in a digest, which people copy.
const digestSize = 8

// removal returns what would go by losses, the workloads that each member loses; nil if nothing has to be confirmed.
func (s Situation) removal(losses map[Key]int) *Removal {
	r := Removal{Losses: losses}
	for _, lost := range losses {
		r.Workloads += lost
	}
	for _, m := range s.Standing {
		if m.Set == "" {
			r.Of += m.Workloads
		}
	}
	switch {
	case s.confirmed(losses):
		return nil
	case s.own(losses) != "":
		r.why, r.command = s.own(losses), s.Command
	case len(s.Wanted) == 0 && !s.Ending:
		r.why = "the data declare nothing for this set"
	case r.Workloads > s.Guard.Workloads:
		r.why = fmt.Sprintf("no more than %d may go at once", s.Guard.Workloads)
	case r.Workloads*100 > s.Guard.Percent*r.Of:
		r.why = fmt.Sprintf("no more than %d%% may go at once", s.Guard.Percent)
	default:
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%q\n", s.LastConfirmed)
	for _, k := range slices.SortedFunc(maps.Keys(losses), Key.Compare) {
		fmt.Fprintf(&text, "%q %q %d\n", k.Namespace, k.Integration, losses[k])
	}
	sum := sha256.Sum256([]byte(text.String()))
	r.Digest = hex.EncodeToString(sum[:digestSize])
	return &r
}
