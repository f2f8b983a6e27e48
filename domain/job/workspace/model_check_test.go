package workspace_test

import (
	"errors"
	"fmt"
	"reflect"

	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the model speaks the words of the room
)

var errBroken = errors.New("a rule is broken")

func broken(rule, format string, args ...any) error {
	return fmt.Errorf("%w: JOBS.md %s: %s", errBroken, rule, fmt.Sprintf(format, args...))
}

// keys returns the keys of all archives that a Workspace refers to.
func keys(w Workspace) []string {
	all := []string{w.State.Key, w.Checkpoint.Key, w.Plan.Key}
	for _, g := range w.Kept {
		all = append(all, g.Key)
	}
	for _, o := range w.Orphans {
		if !o.Discarded {
			all = append(all, o.Key)
		}
	}
	return all
}

// write stores the next Workspace and checks every rule.
func (m *model) write(cause string, next Workspace) error {
	before := m.ws
	if reflect.DeepEqual(before, next) {
		return nil
	}
	m.snaps = append(m.snaps, before)
	if cause != "person" {
		m.choice = ""
	}
	m.counts[cause]++
	if next.Last.Fence != before.Last.Fence {
		m.counts[string(next.Last.Outcome)]++
	}
	m.ws = next
	m.version++
	for _, check := range []func(string, Workspace, Workspace) error{m.checkFence, m.checkLineage, m.checkLock, m.checkAhead, m.checkPlan} {
		if err := check(cause, before, next); err != nil {
			return err
		}
	}
	return m.checkAlways()
}

func (m *model) checkFence(cause string, before, next Workspace) error {
	switch {
	case next.Lock.Held() && next.Lock.Fence == before.Lock.Fence && (next.Lock.Run != before.Lock.Run || next.Lock.Attempt != before.Lock.Attempt):
		return broken("J2", "%s gives fence %d to another attempt", cause, next.Lock.Fence)
	case next.Fence < before.Fence:
		return broken("J2", "%s lowers the fence from %d to %d", cause, before.Fence, next.Fence)
	case next.Lock.Held() && next.Lock.Fence != before.Lock.Fence && (next.Lock.Fence <= before.Fence || m.granted[next.Lock.Fence] != ""):
		return broken("J2", "%s uses fence %d again", cause, next.Lock.Fence)
	}
	return nil
}

func (m *model) checkLineage(cause string, before, next Workspace) error {
	if next.Last.Fence != before.Last.Fence && next.Last.Outcome == "" {
		return broken("J4", "%s ends without an outcome", next.Last.Run)
	}
	if next.Checkpoint.Fence == before.Checkpoint.Fence && next.Checkpoint.Sequence < before.Checkpoint.Sequence {
		return broken("J8", "an older checkpoint overwrites a newer one")
	}
	if next.State.Number == before.State.Number {
		if next.State.Blob != before.State.Blob {
			return broken("J3", "%s changes generation %d", cause, next.State.Number)
		}
		return nil
	}
	g := next.State
	known, taken := m.history[g.Number]
	switch {
	case taken && known != g.Blob:
		return broken("J3", "%s makes generation %d of %v, which is of %v", cause, g.Number, g.Blob, known)
	case cause == "end" && g.Digest == before.State.Digest:
		return broken("J12", "unchanged state is generation %d", g.Number)
	case g.Base != before.State.Number || g.Number <= g.Base || g.Number != g.Base+1 && m.choice != "the store":
		return broken("J3", "generation %d has base %d, but %d was current", g.Number, g.Base, before.State.Number)
	case cause == "end" && (!before.Lock.Held() || g.Fence != before.Lock.Fence || g.Base != before.Lock.Base):
		return broken("J3", "generation %d is of fence %d, but the lock's is %d", g.Number, g.Fence, before.Lock.Fence)
	case len(next.Kept) == 0 || next.Kept[0] != before.State:
		return broken("J3", "generation %d is not kept", before.State.Number)
	}
	m.history[g.Number] = g.Blob
	return nil
}

func (m *model) checkLock(cause string, before, next Workspace) error {
	if cause == "acquire" && !before.Lock.Held() && !next.Lock.Run.Person && !before.Terms.Safety.Expires() && before.State.Exit.Torn() && !before.State.Accepted {
		return broken("J6", "an exclusive run starts from what a killed process left")
	}
	if !before.Lock.Held() || next.Lock.Fence == before.Lock.Fence {
		return nil
	}
	started := before.Lock.Claimant.ID != ""
	switch {
	case cause == "person":
	case cause == "end" && started && (next.Last.Outcome.Releases() || before.Lock.Run.Person):
	case cause == "expire" && before.Lock.Safety.Expires():
	case (cause == "replace" || cause == "withdraw") && !started:
	default:
		return broken("J6", "%s changes the holder from %+v to %+v", cause, before.Lock, next.Lock)
	}
	if key := before.Checkpoint.Key; cause != "end" && m.choice != "discard" && before.Checkpoint.Digest != before.State.Digest &&
		before.Checkpoint.Digest != next.State.Digest && !next.Names(key) && m.uploaded(before.Lock.Fence).Digest != before.Checkpoint.Digest {
		return broken("J6", "checkpoint %s is lost silently", key)
	}
	return nil
}

func (m *model) checkAhead(cause string, before, next Workspace) error {
	if cause == "person" && m.choice == "the store" || before.Phase(m.extent()) != StoreAhead {
		return nil
	}
	switch {
	case next.Lock.Claimant.ID != before.Lock.Claimant.ID && next.Lock.Claimant.ID != "":
		return broken("J20", "%s claims while the store is ahead", cause)
	case cause == "person" && next.State.Number != before.State.Number:
		return broken("J20", "%s changes the state while the store is ahead", m.choice)
	case next.Lock.Fence > before.Lock.Fence:
		return broken("J20", "%s starts while the store is ahead", cause)
	}
	return nil
}

// checkPlan checks that a plan is stored with the state that it is for, and applied to no other one.
func (m *model) checkPlan(cause string, before, next Workspace) error {
	p := next.Plan
	if p.Blob != before.Plan.Blob {
		m.counts["plan"]++
		if cause != "end" || p.Generation != next.State.Number || p.Run != next.Last.Run || !next.Last.Exit.Success() {
			return broken("J17", "%s leaves plan %+v for generation %d", cause, p, next.State.Number)
		}
		m.plans = append(m.plans, p.Digest)
	}
	if r := m.find(next.Lock.Run); r != nil && r.applies != "" &&
		(p.Digest != r.applies || p.Generation != next.Lock.Base || p.Generation != next.State.Number || p.Applied != r.Run) {
		return broken("J17", "%s: %s applies plan %q to generation %d, but the plan is %+v", cause, r, r.applies, next.State.Number, p)
	}
	return nil
}

// checkAlways checks what is true at each moment.
func (m *model) checkAlways() error {
	for _, key := range keys(m.ws) {
		if _, there := m.blobs[key]; key != "" && !there && !m.gone[key] {
			return broken("J5", "archive %s is deleted", key)
		}
	}
	var runs []string
	for _, p := range m.pods {
		if p.running && !p.disowned {
			runs = append(runs, p.id)
		}
	}
	if len(runs) > 1 {
		return broken("J1", "%v run at the same time", runs)
	}
	return nil
}

// isRefusal reports whether an error is one of the room's.
func isRefusal(err error) bool {
	for _, known := range []error{ErrHeld, ErrStale, ErrChanged, ErrSettled, ErrWaits, ErrAhead, ErrEarly, ErrInvalid, ErrVoid, ErrReplaced} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
