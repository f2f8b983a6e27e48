package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Revision is one version of a deployment. What it consists of is stored beside it and
// never changes.
type Revision struct {
	// Number counts from 1.
	Number int
	State  State
	// Content is the revision whose objects it has: itself, or on the way back an older one.
	Content int
	// Base is the healthy revision that its content was planned against; 0 for none.
	Base int
	// ManifestDigest and PlanDigest are those of its plan.
	ManifestDigest, PlanDigest string
	// Begun says that it was active once, Healthy that it has succeeded once.
	Begun, Healthy bool
	// Started is when its run began, or was resumed by a person, in whole seconds; zero before.
	Started time.Time `json:",omitzero"`
	// Message says why it failed, or by what it was replaced.
	Message string
	// Library is the version of the probes that judged its objects when it began. The plan does not
	// depend on it: a new version voids no approval (CONTENT.md H4).
	Library string `json:",omitempty"`
}

// back reports whether the revision is a way back.
func (r Revision) back() bool { return r.Content != r.Number }

// Record is all that is stored about a deployment, besides the contents. Its methods
// return the next one and leave it as it is.
type Record struct {
	// Revisions are in the order of their numbers.
	Revisions []Revision
	// Inventory lists the objects that the deployment may have made and that are not known to be gone. An object is
	// in it before it is written.
	Inventory []Entry
	// Completed are the runs of Jobs that were seen complete.
	Completed []ID
	// Quarantined are the manifestDigests that have failed.
	Quarantined []string
	// Rejected are the writes and deletions that the API server does not take.
	Rejected Rejections `json:",omitempty"`
	// Removing is the uninstallation under way; empty if there is none.
	Removing Removal `json:",omitempty"`
	// Originals are those of adopted objects. They are stored apart, since they may be large.
	Originals Originals `json:"-"`
}

// ErrQuarantined reports that a content failed before: it is not tried again until it
// changes, or a person releases it.
var ErrQuarantined = errors.New("this content failed before")

// errState reports that a revision is not in the state that a call needs.
var errState = errors.New("the record has changed meanwhile: run this again")

// quarantined names the revision in which a content failed.
func quarantined(all []Revision, manifest string) error {
	for _, v := range slices.Backward(all) {
		if v.ManifestDigest == manifest && v.State == StateFailed {
			return fmt.Errorf("%w (revision %d)", ErrQuarantined, v.Number)
		}
	}
	return ErrQuarantined
}

// Last returns the newest revision, and the zero one where there is none.
func (r Record) Last() Revision {
	if len(r.Revisions) == 0 {
		return Revision{}
	}
	return r.Revisions[len(r.Revisions)-1]
}

// Begun returns the newest revision that was begun, which is applied, wholly or in part; the zero one if there is
// none.
func (r Record) Begun() Revision {
	for _, v := range slices.Backward(r.Revisions) {
		if v.Begun {
			return v
		}
	}
	return Revision{}
}

// Before returns the newest revision that was begun before another; 0 for none.
func (r Record) Before(number int) int {
	for _, v := range slices.Backward(r.Revisions) {
		if v.Begun && v.Number < number {
			return v.Number
		}
	}
	return 0
}

// Healthy returns the newest revision that has succeeded, and that whose objects it has;
// zeros for none.
func (r Record) Healthy() (number, content int) {
	for _, v := range slices.Backward(r.Revisions) {
		if v.Healthy {
			return v.Number, v.Content
		}
	}
	return 0, 0
}

// Propose adds the plan as the next revision. One that was proposed before is superseded;
// the same plan again changes nothing.
func (r Record) Propose(p Plan) (Record, error) {
	last := r.Last()
	switch {
	case slices.Contains(r.Quarantined, p.ManifestDigest):
		return r, quarantined(r.Revisions, p.ManifestDigest)
	case last.State == StateProposed && last.PlanDigest == p.Digest:
		return r, nil
	}
	return r.add(p, Revision{Content: last.Number + 1, Base: p.Base, State: StateProposed}), nil
}

// add appends a revision and supersedes what was proposed.
func (r Record) add(p Plan, v Revision) Record {
	v.Number, v.ManifestDigest, v.PlanDigest = r.Last().Number+1, p.ManifestDigest, p.Digest
	step := "proposed"
	if v.Begun {
		step = "begun"
	}
	r = r.edit(func(old *Revision) {
		if old.State == StateProposed {
			old.State, old.Message = StateSuperseded, fmt.Sprintf("replaced by revision %d, which was %s", v.Number, step)
		}
	})
	r.Revisions = append(r.Revisions, v)
	return r
}

// edit returns a record whose revisions are copies that f has seen.
func (r Record) edit(f func(*Revision)) Record {
	r.Revisions = slices.Clone(r.Revisions)
	for i := range r.Revisions {
		f(&r.Revisions[i])
	}
	return r
}

// Activate begins the revision that was proposed with this plan. All that it may make is
// in the inventory from now on.
func (r Record) Activate(p Plan, now time.Time) (Record, error) {
	last := r.Last()
	if last.State != StateProposed || last.PlanDigest != p.Digest {
		return r, fmt.Errorf("cannot activate plan %.12s: revision %d is %s: %w", p.Digest, last.Number, last.State, errState)
	}
	r = r.edit(func(v *Revision) {
		switch {
		case v.Number == last.Number:
			v.State, v.Begun, v.Started = StateActive, true, second(now)
		case v.State == StateActive:
			v.State, v.Message = StateSuperseded, fmt.Sprintf("replaced by revision %d before it succeeded", last.Number)
		}
	})
	r.Rejected, r.Removing = nil, nil
	// An uninstallation that was given up runs its Jobs again when it is requested again.
	r.Completed = slices.DeleteFunc(slices.Clone(r.Completed), func(id ID) bool {
		return slices.ContainsFunc(r.Inventory, func(e Entry) bool { return e.Final && e.ID == id })
	})
	return r.remember(p.Sequence), nil
}

// JudgedBy returns a record with the version of the probes that judge the newest revision.
func JudgedBy(r Record, library string) Record {
	last := r.Last()
	return r.edit(func(v *Revision) {
		if v.Number == last.Number {
			v.Library = library
		}
	})
}

// second returns a time as it is stored: equal to itself after it is read again.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// Restart gives the active revision its whole time again: a person resumes it.
func (r Record) Restart(now time.Time) Record {
	last := r.Begun()
	r.Rejected = nil
	return r.edit(func(v *Revision) {
		if v.Number == last.Number && v.State == StateActive {
			v.Started = second(now)
		}
	})
}

// remember adds a sequence to the inventory.
func (r Record) remember(s Sequence) Record {
	entries := map[ID]Entry{}
	for _, e := range r.Inventory {
		entries[e.ID] = e
	}
	for _, item := range s {
		entries[item.ID] = Entry{ID: item.ID, Origin: item.Origin, Phase: item.Phase, Depth: item.Depth, Final: item.Run == OnUninstall}
	}
	r.Inventory = nil
	for _, e := range entries {
		r.Inventory = append(r.Inventory, e)
	}
	slices.SortFunc(r.Inventory, func(a, b Entry) int { return a.ID.Compare(b.ID) })
	return r
}

// Complete records runs of Jobs (Next.Completed).
func (r Record) Complete(runs ...ID) Record {
	r.Completed = slices.Concat(r.Completed, runs)
	slices.SortFunc(r.Completed, ID.Compare)
	r.Completed = slices.Compact(r.Completed)
	return r
}

// completed reports whether a Job has run as often as required.
func (r Record) completed(i Item) bool { return slices.Contains(r.Completed, i.run()) }

// Succeed ends the active revision well. What was before it is superseded.
func (r Record) Succeed() (Record, error) {
	last := r.Begun()
	if last.State != StateActive {
		return r, fmt.Errorf("cannot end revision %d, which is %s: %w", last.Number, last.State, errState)
	}
	r.Rejected = nil
	return r.edit(func(v *Revision) {
		switch {
		case v.Number == last.Number:
			v.State, v.Healthy = StateSucceeded, true
		case v.State == StateSucceeded:
			v.State, v.Message = StateSuperseded, fmt.Sprintf("replaced by revision %d", last.Number)
		}
	}), nil
}

// Fail ends the active revision and puts its content in quarantine. A failing way back does not discredit content
// that once was healthy.
func (r Record) Fail(why string) (Record, error) {
	last := r.Begun()
	if last.State != StateActive {
		return r, fmt.Errorf("cannot end revision %d, which is %s: %w", last.Number, last.State, errState)
	}
	if !last.back() {
		r.Quarantined = append(slices.Clone(r.Quarantined), last.ManifestDigest)
	}
	r.Rejected = nil
	return r.edit(func(v *Revision) {
		if v.Number == last.Number {
			v.State, v.Message = StateFailed, why
		}
	}), nil
}

// Release takes a content out of quarantine, after a user has removed the cause of its failure.
func (r Record) Release(manifestDigest string) Record {
	r.Quarantined = slices.DeleteFunc(slices.Clone(r.Quarantined), func(d string) bool { return d == manifestDigest })
	return r
}

// WayBack returns the revision whose content comes back (as Sequence.Back) after the last
// one that was begun has failed; false where there is none. There is no way back from a way back:
// what fails twice waits for a person (BUNDLES.md 6).
func (r Record) WayBack() (content int, found bool) {
	last := r.Begun()
	if last.State != StateFailed || last.back() {
		return 0, false
	}
	_, content = r.Healthy()
	return content, content > 0
}

// Return begins the way back as the next revision: the approval of the failed one covers it. The error names the
// obstacle.
func (r Record) Return(p Plan, now time.Time) (Record, error) {
	if content, found := r.WayBack(); !found || content != p.Back {
		return r, fmt.Errorf("cannot go back to the content of revision %d: %w", p.Back, errState)
	}
	if len(p.Conflicts) > 0 {
		return r, fmt.Errorf("cannot go back to the content of revision %d: %s", p.Back, p.Conflicts[0])
	}
	if len(p.Holds) > 0 {
		return r, fmt.Errorf("cannot go back to the content of revision %d: %s", p.Back, p.Holds[0])
	}
	base := 0
	for _, v := range r.Revisions {
		if v.Number == p.Base {
			base = v.Base
		}
	}
	return r.add(p, Revision{Content: p.Back, Base: base, State: StateActive, Begun: true, Started: second(now)}).remember(p.Sequence), nil
}

// Drop forgets what is gone (Pruned.Gone).
func (r Record) Drop(gone ...ID) Record {
	r.Inventory = slices.DeleteFunc(slices.Clone(r.Inventory), func(e Entry) bool { return slices.Contains(gone, e.ID) })
	r.Originals = r.Originals.without(gone...)
	return r
}

// defaultHistory is how many revisions are kept.
const defaultHistory = 10

// Forget leaves the newest revisions, limit of them, 10 where it is 0, and of the older
// ones those that are needed: the last one that was begun, that of the way back, and those whose
// content another has. Contents of revisions that are not in the record any more may be deleted.
func (r Record) Forget(limit int) Record {
	healthy, content := r.Healthy()
	oldest := max(0, len(r.Revisions)-cmp.Or(limit, defaultHistory))
	begun := r.Begun()
	needed := []int{healthy, content, begun.Number, begun.Content}
	for _, v := range r.Revisions[oldest:] {
		needed = append(needed, v.Number, v.Content)
	}
	r.Revisions = slices.DeleteFunc(slices.Clone(r.Revisions), func(v Revision) bool { return !slices.Contains(needed, v.Number) })
	return r
}
