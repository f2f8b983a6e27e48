package job

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// reader maps parts of the API to the domain, and collects what it cannot read.
type reader struct {
	faults []error
}

// at returns the path of an entry of a list.
func at(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// fault notes an error; nil is none.
func (r *reader) fault(err error) {
	if err != nil {
		r.faults = append(r.faults, err)
	}
}

// chosen reports whether a field has its only word.
func chosen[A ~string](r *reader, field string, got, word A) bool {
	if got != "" && got != word {
		r.fault(fmt.Errorf("%s: value %q is unknown: use %q, or leave it out", field, got, word))
	}
	return got == word
}

// known returns a word that is the same in the domain; unset stays so.
func known[D ~string](r *reader, field, word string, words ...D) D {
	table := map[string]D{"": ""}
	for _, w := range words {
		table[string(w)] = w
	}
	d, err := toWord(field, word, table)
	r.fault(err)
	return d
}

func (r *reader) outcome(field string, word v1alpha1.JobOutcome) job.Outcome {
	o, err := toWord(field, word, outcomes)
	r.fault(err)
	return o
}

func (r *reader) exit(field string, e *v1alpha1.JobExit) job.Exit {
	if e == nil {
		return job.Exit{}
	}
	return job.Exit{
		Code:  int(e.Code),
		Cause: known(r, field+".cause", e.Cause, job.Killed, job.OutOfMemory, job.NotStarted, job.Unreported),
	}
}

func (r *reader) run(field string, h v1alpha1.JobHolder) workspace.Run {
	return workspace.Run{UID: h.UID, Name: h.Name, Person: chosen(r, field+".origin", h.Origin, v1alpha1.OriginPush)}
}

func (r *reader) lock(field string, l *v1alpha1.JobLock) workspace.Lock {
	if l == nil {
		return workspace.Lock{}
	}
	safety, err := toWord(field+".safety", l.Safety, safeties)
	r.fault(err)
	lock := workspace.Lock{
		Run: r.run(field+".run", l.Run), Attempt: int(l.Attempt), Fence: l.Fence, Base: l.Base, Since: value.Time(l.Since),
		Safety: safety, Timing: job.Timing{Lost: l.LostAfter.Duration, Grace: l.CancelGracePeriod.Duration},
		GivenUp: chosen(r, field+".earlier", l.Earlier, v1alpha1.EarlierGivenUp),
	}
	if c := l.Claimant; c != nil {
		lock.Claimant = workspace.Claimant{ID: c.ID, Where: c.Where}
	}
	if v := l.Recovery; v != nil {
		lock.Recovery = workspace.Recovery{
			Reason: known(r, field+".recovery.reason", v.Reason, workspace.Silent, workspace.Vanished, workspace.CaptureFailed,
				workspace.StateTooLarge),
			Outcome: r.outcome(field+".recovery.outcome", v.Outcome), Exit: r.exit(field+".recovery.exit", v.Exit),
		}
	}
	if l.Fence == 0 || l.Run.UID == "" {
		r.fault(fmt.Errorf("%s: a hold needs a fence and the UID of its run: restore the object from a backup", field))
	}
	return lock
}

func (r *reader) generation(field string, g *v1alpha1.JobGeneration) workspace.Generation {
	if g == nil {
		return workspace.Generation{}
	}
	return workspace.Generation{
		Number: g.Number, Base: g.Base, Blob: toBlob(g.Archive), Exit: r.exit(field+".exit", g.Exit),
		Accepted: chosen(r, field+".acceptance", g.Acceptance, v1alpha1.AcceptanceAccepted), Author: g.Author,
	}
}

func (r *reader) checkpoint(field string, c *v1alpha1.JobCheckpoint) workspace.Checkpoint {
	if c == nil {
		return workspace.Checkpoint{}
	}
	return workspace.Checkpoint{
		Blob: toBlob(c.Archive), Sequence: c.Sequence, Torn: chosen(r, field+".consistency", c.Consistency, v1alpha1.ConsistencyTorn),
	}
}

func (r *reader) orphan(field string, o v1alpha1.JobOrphan) workspace.Orphan {
	return workspace.Orphan{
		Blob: toBlob(o.Archive), Base: o.Base, Author: o.Author, Exit: r.exit(field+".exit", o.Exit),
		Torn: chosen(r, field+".consistency", o.Consistency, v1alpha1.ConsistencyTorn), Since: value.Time(o.Since),
		Discarded: chosen(r, field+".decision", o.Decision, v1alpha1.DecisionDiscarded),
	}
}

func (r *reader) plan(field string, p *v1alpha1.JobPlan) workspace.Plan {
	if p == nil {
		return workspace.Plan{}
	}
	plan := workspace.Plan{Blob: toBlob(&p.Archive), Run: r.run(field+".run", p.Run), Input: p.Input, Generation: p.Generation}
	if p.Applied != nil {
		plan.Applied = r.run(field+".applied", *p.Applied)
	}
	return plan
}

func toBlob(a *v1alpha1.JobArchive) workspace.Blob {
	if a == nil {
		return workspace.Blob{}
	}
	return workspace.Blob{Digest: a.Digest, Key: a.Key, Fence: a.Fence}
}
