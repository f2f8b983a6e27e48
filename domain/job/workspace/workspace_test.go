package workspace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the tests speak the words of the room
)

//nolint:gochecknoglobals // values that all tests share
var (
	one   = Run{UID: "1", Name: "one"}
	two   = Run{UID: "2", Name: "two"}
	first = Claimant{ID: "pod-1", Where: "node-a"}
	start = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	fresh = Workspace{Name: "shop/db", Terms: Terms{Timing: job.DefaultTiming()}}
)

// must returns the Workspace of a step that succeeds.
func must(t *testing.T) func(Workspace, error) Workspace {
	t.Helper()
	return func(w Workspace, err error) Workspace {
		t.Helper()
		require.NoError(t, err)
		return w
	}
}

// running returns a Workspace whose Run one runs with fence 1.
func running(t *testing.T) Workspace {
	t.Helper()
	w := must(t)(fresh.Acquire(Admission{Run: one, Now: start}))
	return must(t)(w.Claim(Start{Run: one, Attempt: 1, Claimant: first}))
}

// blob returns an archive below a fence.
func blob(fence int64, digest string) Blob { return Blob{digest, "k-" + digest, fence} }

// committed returns a Workspace after a commit of Run one.
func committed(t *testing.T, exit job.Exit) Workspace {
	t.Helper()
	w, outcome, err := running(t).End(Capture{Run: one, Fence: 1, Outcome: job.Committed, Blob: blob(1, "a"), Exit: exit})
	require.NoError(t, err)
	require.Equal(t, job.Committed, outcome)
	return w
}

// A refusal names the holder, since when, and the command that helps; it changes nothing (JOBS.md J1, J2, J4 and J6).
func TestRefusals(t *testing.T) {
	held := running(t)
	lost := must(t)(held.Lose(Evidence{Fence: 1, Vanished: true}))
	killed := committed(t, job.Exit{Cause: job.Killed})
	ended := committed(t, job.Exit{})
	acquired := must(t)(fresh.Acquire(Admission{Run: one, Now: start}))
	tests := map[string]struct {
		why  string
		from Workspace
		do   func(Workspace) (Workspace, error)
		is   error
		says string
	}{
		"Held": {
			why: "one Run holds the lock", from: held, is: ErrHeld,
			do:   func(w Workspace) (Workspace, error) { return w.Acquire(Admission{Run: two}) },
			says: "Run one (attempt 1, fence 1) holds the lock of shop/db since 2026-03-01T03:00:00Z on node-a: wait for it, or `orcon job cancel shop/one`",
		},
		"Lost": {
			why: "a lost hold needs a person, not patience", from: lost, is: ErrHeld,
			do:   func(w Workspace) (Workspace, error) { return w.Acquire(Admission{Run: two}) },
			says: "needs a decision: `orcon job unlock shop/db --because TEXT`",
		},
		"Unpublished": {
			why: "an end that no status shows would be lost", from: ended, is: ErrHeld,
			do:   func(w Workspace) (Workspace, error) { return w.Acquire(Admission{Run: two}) },
			says: "the status of Run one does not show its end",
		},
		"NoUID": {
			why: "the zero Run is not the holder of a free lock", from: fresh, is: ErrInvalid,
			do: func(w Workspace) (Workspace, error) { return w.Acquire(Admission{}) }, says: "no UID",
		},
		"ReplaceFree": {
			why: "nor is it replaced", from: fresh, is: ErrStale,
			do: func(w Workspace) (Workspace, error) { return w.Replace(Run{}, 0, "", Extent{}) }, says: "does not hold",
		},
		"StaleWithoutArchive": {
			why: "there is nothing to keep", from: ended, is: ErrStale,
			do: func(w Workspace) (Workspace, error) {
				w, outcome, err := w.End(Capture{Run: two, Fence: 1, Outcome: job.Unchanged, Blob: blob(1, "x")})
				assert.Equal(t, job.Unknown, outcome)
				return w, err
			},
			says: "cannot end Run two",
		},
		"Again": {
			why: "a Run that has ended is not admitted again", from: ended, is: ErrStale,
			do:   func(w Workspace) (Workspace, error) { return w.Acquire(Admission{Run: one, Published: 1}) },
			says: "it has ended",
		},
		"Killed": {
			why: "a person looks at what a killed process left", from: killed, is: ErrWaits,
			do:   func(w Workspace) (Workspace, error) { return w.Acquire(Admission{Run: two, Published: 1}) },
			says: "generation 1 may be incomplete, since its process ended with Killed",
		},
		"Ahead": {
			why: "the store remembers more", from: ended, is: ErrAhead,
			do: func(w Workspace) (Workspace, error) {
				return w.Acquire(Admission{Run: two, Published: 1, Extent: Extent{Fence: 7, Generation: 1}})
			},
			says: "it holds generation 1 and fence 7, but the Workspace knows 1 and 1",
		},
		"OtherPod": {
			why: "a second pod starts nothing", from: held, is: ErrHeld,
			do: func(w Workspace) (Workspace, error) {
				return w.Claim(Start{Run: one, Attempt: 1, Claimant: Claimant{"pod-2", "node-b"}})
			},
			says: "cannot start attempt 1 of Run one on node-b",
		},
		"OtherAttempt": {
			why: "a pod of an earlier attempt starts nothing", from: must(t)(acquired.Replace(one, 1, "", Extent{})), is: ErrHeld,
			do:   func(w Workspace) (Workspace, error) { return w.Claim(Start{Run: one, Attempt: 1, Claimant: first}) },
			says: "attempt 2, fence 2",
		},
		"Nameless": {
			why: "a claimant without an ID would be any", from: acquired, is: ErrInvalid,
			do: func(w Workspace) (Workspace, error) { return w.Claim(Start{Run: one, Attempt: 1}) }, says: "no ID",
		},
		"ReplaceStarted": {
			why: "only pods that never started are replaced", from: held, is: ErrHeld,
			do: func(w Workspace) (Workspace, error) { return w.Replace(one, 1, "", Extent{}) }, says: "may have started",
		},
		"ReplaceRecorded": {
			why: "the store knows of a claim that the Workspace does not", from: acquired, is: ErrHeld,
			do: func(w Workspace) (Workspace, error) { return w.Replace(one, 1, "pod-1", Extent{}) }, says: "may have started",
		},
		"WithdrawStarted": {
			why: "a started Run is ended by its holder", from: held, is: ErrHeld,
			do: func(w Workspace) (Workspace, error) { return w.Withdraw(one, "") }, says: "holds the lock",
		},
		"WithdrawRecorded": {
			why: "as for Replace", from: acquired, is: ErrHeld,
			do: func(w Workspace) (Workspace, error) { return w.Withdraw(one, "pod-1") }, says: "holds the lock",
		},
		"WithdrawOther": {
			why: "another Run holds nothing", from: acquired, is: ErrStale,
			do: func(w Workspace) (Workspace, error) { return w.Withdraw(two, "") }, says: "does not hold",
		},
		"ExpireExclusive": {
			why: "time alone releases no exclusive lock", from: held, is: ErrWaits,
			do:   func(w Workspace) (Workspace, error) { return w.Expire(Evidence{Fence: 1, Silence: time.Hour}) },
			says: "the template is exclusive",
		},
		"LoseEarly": {
			why: "a pause is no loss", from: held, is: ErrEarly,
			do:   func(w Workspace) (Workspace, error) { return w.Lose(Evidence{Fence: 1, Silence: 59 * time.Second}) },
			says: "silent for 59s of 1m0s",
		},
		"DecideAlive": {
			why: "a person does not decide about a live holder", from: held, is: ErrHeld,
			do: func(w Workspace) (Workspace, error) {
				return w.Decide(Verdict{Remedy: Retry, Fence: 1, By: "ann"})
			},
			says: "orcon job cancel shop/one",
		},
		"DecideOther": {
			why: "a decision is about what the person saw", from: lost, is: ErrStale,
			do: func(w Workspace) (Workspace, error) {
				return w.Decide(Verdict{Remedy: Retry, Fence: 9, By: "ann"})
			},
			says: "fence 9 was decided about",
		},
		"DecideNobody": {
			why: "a decision has an author", from: lost, is: ErrInvalid,
			do:   func(w Workspace) (Workspace, error) { return w.Decide(Verdict{Remedy: Retry, Fence: 1}) },
			says: "no person is named",
		},
		"NoCheckpoint": {
			why: "what is not there cannot be accepted", from: lost, is: ErrInvalid,
			do: func(w Workspace) (Workspace, error) {
				return w.Decide(Verdict{Remedy: AcceptCheckpoint, Fence: 1, By: "ann"})
			},
			says: "accept the generation or retry",
		},
		"AcceptOlderEnd": {
			why: "an older end was looked at", from: killed, is: ErrStale,
			do: func(w Workspace) (Workspace, error) {
				return w.Decide(Verdict{Remedy: AcceptGeneration, Fence: 9, Seen: 1, By: "ann"})
			},
			says: "fence 1 is the last that ended",
		},
		"RollbackHeld": {
			why: "nothing changes below a holder", from: held, is: ErrHeld,
			do: func(w Workspace) (Workspace, error) { return w.Rollback(0, 0, "ann", Extent{}) }, says: "orcon job cancel shop/one",
		},
		"RollbackAhead": {
			why: "the newest state may be in the store alone", from: ended, is: ErrAhead,
			do: func(w Workspace) (Workspace, error) { return w.Rollback(0, 1, "ann", Extent{Generation: 3}) }, says: "--store newest",
		},
		"RollbackUnseen": {
			why: "another generation was looked at", from: ended, is: ErrChanged,
			do:   func(w Workspace) (Workspace, error) { return w.Rollback(0, 0, "ann", Extent{}) },
			says: "the state has changed since it was looked at: generation 1 is current, not 0",
		},
		"RollbackUnknown": {
			why: "it is no longer kept", from: ended, is: ErrInvalid,
			do: func(w Workspace) (Workspace, error) { return w.Rollback(5, 1, "ann", Extent{}) }, says: "it is not kept",
		},
		"RollbackCurrent": {
			why: "it is current already", from: ended, is: ErrInvalid,
			do: func(w Workspace) (Workspace, error) { return w.Rollback(1, 1, "ann", Extent{}) }, says: "it is the current one",
		},
		"NotAhead": {
			why: "there is nothing to accept", from: ended, is: ErrSettled,
			do: func(w Workspace) (Workspace, error) { return w.AcceptStore(Restored{By: "ann"}) }, says: "cannot accept the store of shop/db: nothing is to be accepted: the store is not ahead",
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			next, err := tc.do(tc.from)
			require.ErrorIs(t, err, tc.is, tc.why)
			assert.ErrorContains(t, err, tc.says, tc.why)
			assert.Equal(t, tc.from, next, tc.why)
		})
	}
}

// A commit needs holder, fence and base to match (JOBS.md J3). What does not match is kept as an orphan, also after
// a restart under the same Run.
func TestStaleEnds(t *testing.T) {
	good := Capture{Run: one, Fence: 1, Outcome: job.Committed, Blob: blob(1, "a"), Now: start}
	tests := map[string]func(*Capture){
		"Run":   func(c *Capture) { c.Run = two },
		"Base":  func(c *Capture) { c.Base = 3 },
		"Fence": func(c *Capture) { c.Fence, c.Blob.Fence = 2, 2 },
	}
	for label, change := range tests {
		t.Run(label, func(t *testing.T) {
			c := good
			change(&c)
			w, outcome, err := running(t).End(c)
			require.ErrorIs(t, err, ErrStale)
			assert.Equal(t, job.Orphaned, outcome)
			assert.Equal(t, running(t).State, w.State)
			assert.Equal(t, running(t).Lock, w.Lock)
			require.Len(t, w.Orphans, 1)
			assert.Equal(t, c.Blob, w.Orphans[0].Blob)
			again, _, err := w.End(c)
			require.ErrorIs(t, err, ErrStale)
			assert.Equal(t, w, again, "JOBS.md J8")
		})
	}
}

// An end that cannot be true is refused.
func TestInvalidEnds(t *testing.T) {
	for label, c := range map[string]Capture{
		"NoOutcome":  {Run: one, Fence: 1},
		"NoneRan":    {Run: one, Fence: 1, Outcome: job.None},
		"NoArchive":  {Run: one, Fence: 1, Outcome: job.Committed},
		"OtherFence": {Run: one, Fence: 1, Outcome: job.Committed, Blob: blob(2, "a")},
		"NoKey":      {Run: one, Fence: 1, Outcome: job.Orphaned, Blob: Blob{Digest: "a", Fence: 1}},
	} {
		t.Run(label, func(t *testing.T) {
			w, _, err := running(t).End(c)
			require.ErrorIs(t, err, ErrInvalid)
			assert.Equal(t, running(t), w)
		})
	}
}

// The hold of a failed capture stays until a person decides, or the holder commits after all (JOBS.md J6).
func TestFailedCapture(t *testing.T) {
	failed := Capture{Run: one, Fence: 1, Outcome: job.Failed, Exit: job.Exit{Code: 2}}
	w, _, err := running(t).End(failed)
	require.NoError(t, err)
	assert.Equal(t, Recovery{CaptureFailed, job.Failed, job.Exit{Code: 2}}, w.Lock.Recovery)
	large, outcome, err := running(t).End(Capture{Run: one, Fence: 1, Outcome: job.Orphaned, Blob: blob(1, "a")})
	require.NoError(t, err)
	assert.Equal(t, job.Orphaned, outcome)
	assert.Equal(t, Recovery{Reason: StateTooLarge, Outcome: job.Orphaned}, large.Lock.Recovery, "JOBS.md J12")
	behind, outcome, err := running(t).End(Capture{Run: one, Fence: 1, Outcome: job.Committed, Blob: blob(1, "a"), Extent: Extent{Fence: 5}})
	require.NoError(t, err)
	assert.Equal(t, job.Orphaned, outcome)
	assert.Equal(t, Recovery{Reason: CaptureFailed, Outcome: job.Orphaned}, behind.Lock.Recovery, "the store is ahead (JOBS.md J20)")
	again, outcome, err := w.End(failed)
	require.NoError(t, err)
	assert.Equal(t, w, again)
	assert.Equal(t, job.Failed, outcome)

	after, outcome, err := w.End(Capture{Run: one, Fence: 1, Outcome: job.Committed, Blob: blob(1, "a")})
	require.NoError(t, err)
	assert.Equal(t, job.Committed, outcome)
	assert.False(t, after.Lock.Held())

	decided := must(t)(w.Decide(Verdict{Remedy: AcceptGeneration, Fence: 1, By: "ann"}))
	assert.Equal(t, Ended{one, 1, 1, job.Failed, job.Exit{Code: 2}}, decided.Last, "the reported outcome stays")
}

// While the store is ahead a holder of the time before commits nothing: its state is kept for a person (JOBS.md J20).
func TestEndWhileAhead(t *testing.T) {
	c := Capture{Run: one, Fence: 1, Outcome: job.Committed, Blob: blob(1, "a"), Extent: Extent{Generation: 1}}
	w, outcome, err := running(t).End(c)
	require.NoError(t, err)
	assert.Equal(t, job.Orphaned, outcome)
	assert.Equal(t, int64(0), w.State.Number)
	assert.True(t, w.Names("k-a") && w.Lock.Held())
	again, _, err := w.End(c)
	require.NoError(t, err)
	assert.Equal(t, w, again, "JOBS.md J8")
}

// A killed process makes the next exclusive Run wait, also if its state is as before, until a person accepts it.
func TestAcceptAfterKill(t *testing.T) {
	w := must(t)(committed(t, job.Exit{}).Acquire(Admission{Run: two, Published: 1}))
	w = must(t)(w.Claim(Start{Run: two, Attempt: 1, Claimant: first}))
	w, outcome, err := w.End(Capture{Run: two, Fence: 2, Base: 1, Outcome: job.Committed, Blob: blob(2, "a"), Exit: job.Exit{Cause: job.OutOfMemory}})
	require.NoError(t, err)
	assert.Equal(t, job.Unchanged, outcome, "JOBS.md J12: unchanged state is no new generation")
	assert.Equal(t, int64(1), w.State.Number)
	three := Admission{Run: Run{UID: "3", Name: "three"}, Published: 2}
	_, err = w.Acquire(three)
	require.ErrorIs(t, err, ErrWaits)
	assert.Equal(t, NeedsAccept, w.Phase(Extent{}))
	w = must(t)(w.Decide(Verdict{Remedy: AcceptGeneration, Fence: 2, Seen: 1, By: "ann"}))
	assert.Equal(t, Ready, w.Phase(Extent{}))
	must(t)(w.Acquire(three))
}

// A person may push a state in place of one that a killed process left, and no Run may start meanwhile.
func TestPush(t *testing.T) {
	push := Run{UID: "p", Name: "ann", Person: true}
	w := must(t)(committed(t, job.Exit{Cause: job.Killed}).Acquire(Admission{Run: push, Published: 1, Now: start}))
	_, err := w.Acquire(Admission{Run: two, Published: 1})
	require.ErrorIs(t, err, ErrHeld)
	require.ErrorContains(t, err, "the push of ann")
	c := Capture{Run: push, Fence: 2, Base: 1, Outcome: job.Committed, Blob: blob(2, "mine")}
	w, outcome, err := w.End(c)
	require.NoError(t, err)
	assert.Equal(t, job.Committed, outcome)
	assert.Equal(t, one, w.Last.Run, "a push leaves the record of the last Run")
	again, outcome, err := w.End(c)
	require.NoError(t, err)
	assert.Equal(t, job.Committed, outcome)
	assert.Equal(t, w, again, "JOBS.md J8")
	must(t)(w.Acquire(Admission{Run: two, Published: 1}))
}

// A person's choices about a lost hold lead on, and lose nothing that was not discarded (JOBS.md J6).
func TestDecisions(t *testing.T) {
	w := running(t)
	w = must(t)(w.Save(Save{one, Checkpoint{blob(1, "c"), 4, false}}))
	w = must(t)(w.Lose(Evidence{Fence: 1, Silence: time.Minute}))
	assert.Equal(t, NeedsRecovery, w.Phase(Extent{}))
	assert.Equal(t, AcceptCheckpoint, Propose(w), "it is consistent and newer")
	tests := map[Remedy]struct {
		state   string
		orphans int
		outcome job.Outcome
		held    int64
	}{
		AcceptGeneration: {orphans: 2, outcome: job.Unknown},
		AcceptCheckpoint: {state: "c", orphans: 1, outcome: job.Committed},
		Retry:            {orphans: 2, held: 2},
		Discard:          {outcome: job.Unknown},
	}
	for choice, want := range tests {
		t.Run(string(choice), func(t *testing.T) {
			next := must(t)(w.Decide(Verdict{Remedy: choice, Fence: 1, By: "ann", Uploaded: blob(1, "u")}))
			assert.Equal(t, want.state, next.State.Digest)
			assert.Len(t, next.Orphans, want.orphans)
			assert.Equal(t, want.outcome, next.Last.Outcome)
			assert.Equal(t, want.held, next.Lock.Fence)
			again, err := next.Decide(Verdict{Remedy: choice, Fence: 1, By: "ann"})
			assert.Equal(t, choice != AcceptGeneration, err != nil, "what is done needs no second decision")
			assert.Equal(t, next, again, "JOBS.md J8")
		})
	}
}

// An expired hold ends as unknown, and never looks like a success (JOBS.md J4 and J6).
func TestExpire(t *testing.T) {
	w := running(t)
	w.Lock.Safety = job.Idempotent
	_, err := w.Expire(Evidence{Fence: 1, Silence: w.Lock.Timing.Takeover() - 1})
	require.ErrorIs(t, err, ErrEarly)
	w = must(t)(w.Expire(Evidence{Fence: 1, Silence: w.Lock.Timing.Takeover(), Uploaded: blob(1, "u")}))
	assert.Equal(t, Ended{one, 1, 1, job.Unknown, job.Exit{Cause: job.Unreported}}, w.Last)
	assert.True(t, w.Names("k-u"))
}

// An orphan waits 30 days for a person, who accepts it once or discards it.
func TestOrphans(t *testing.T) {
	late := Capture{Run: two, Fence: 1, Outcome: job.Committed, Blob: blob(1, "late"), Now: start}
	w, _, err := committed(t, job.Exit{}).End(late)
	require.ErrorIs(t, err, ErrStale)
	assert.Len(t, w.Forget(start.Add(OrphanAge)).Orphans, 1)
	assert.Empty(t, w.Forget(start.Add(OrphanAge+1)).Orphans)

	v := Verdict{Remedy: AcceptOrphan, Orphan: "k-late", Seen: 1, By: "ann"}
	accepted := must(t)(w.Decide(v))
	assert.Equal(t, "late", accepted.State.Digest)
	assert.Equal(t, int64(2), accepted.State.Number)
	assert.Empty(t, accepted.Orphans)
	v.Seen = 2
	_, err = accepted.Decide(v)
	require.ErrorIs(t, err, ErrInvalid)

	v.Remedy, v.Seen = Discard, 1
	discarded := must(t)(w.Decide(v))
	assert.True(t, discarded.Orphans[0].Discarded)
	again, _, err := discarded.End(late)
	require.ErrorIs(t, err, ErrStale)
	assert.Equal(t, discarded, again, "JOBS.md J8: a late message brings back nothing")
}

// After the restore of an older object nothing starts until a person accepts the store; then all numbers are above
// those of the store, and neither state is lost (JOBS.md J20).
func TestAcceptStore(t *testing.T) {
	for _, adopt := range []bool{true, false} {
		w := must(t)(running(t).AcceptStore(Restored{
			Newest: blob(8, "new"), Adopt: adopt, By: "ann", Extent: Extent{Fence: 9, Generation: 5}, Uploaded: blob(1, "u"), Now: start,
		}))
		assert.Equal(t, int64(6), w.State.Number)
		assert.Equal(t, adopt, w.State.Digest == "new")
		assert.True(t, w.Names("k-new") && w.Names("k-u"))
		assert.Equal(t, job.Unknown, w.Last.Outcome)
		w = must(t)(w.Acquire(Admission{Run: two, Published: 1, Extent: Extent{Fence: 9, Generation: 5}}))
		assert.Equal(t, int64(10), w.Lock.Fence)
	}
}

// A Workspace that is made anew under its name does not begin beside the state that an earlier one left, until a person
// begins empty, or a state is pushed in its place (JOBS.md J20 and JOBS-DESIGN.md 11).
func TestLeft(t *testing.T) {
	left := Extent{Left: 5}
	_, err := fresh.Acquire(Admission{Run: one, Extent: left})
	require.ErrorIs(t, err, ErrAhead)
	assert.ErrorContains(t, err, "`orcon job state adopt shop/db --because TEXT`")
	_, err = fresh.AcceptStore(Restored{Adopt: true, By: "ann", Extent: left, Now: start})
	require.ErrorContains(t, err, "`orcon job state adopt shop/db --because TEXT`")
	w := must(t)(fresh.AcceptStore(Restored{By: "ann", Extent: left, Now: start}))
	assert.Empty(t, w.State.Digest)
	assert.Equal(t, Ready, w.Phase(left))
	w = must(t)(w.Acquire(Admission{Run: one, Extent: left}))
	assert.Equal(t, int64(2), w.Lock.Fence, "the decision took a fence")
}

// Earlier generations are kept up to their number; a rollback makes one of them the next one.
func TestRollback(t *testing.T) {
	w := committed(t, job.Exit{})
	w.Terms.Keep = 2
	for i := range int64(4) {
		w = must(t)(w.Rollback(w.Kept[0].Number, w.State.Number, "ann", Extent{}))
		assert.Equal(t, 2+i, w.State.Number)
		assert.Equal(t, 2+i, w.Fence, "JOBS.md J2: a person's change takes a fence")
		assert.LessOrEqual(t, len(w.Kept), 2)
	}
}

// JOBS.md J14: only who carries a Run out has what is the Run's: not before the claim, nor after the end of the hold.
func TestClaimedBy(t *testing.T) {
	acquired := must(t)(fresh.Acquire(Admission{Run: one, Now: start}))
	tests := map[string]struct {
		why  string
		w    Workspace
		run  Run
		by   string
		want bool
	}{
		"Holder":    {"it has claimed it", running(t), one, first.ID, true},
		"Other":     {"another one has", running(t), one, "pod-2", false},
		"OtherRun":  {"another Run has the lock", running(t), two, first.ID, false},
		"Unclaimed": {"it may start elsewhere yet", acquired, one, "", false},
		"Ended":     {"the hold has ended", committed(t, job.Exit{}), one, first.ID, false},
		"Free":      {"there is no lock", Workspace{}, Run{}, "", false},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) { assert.Equal(t, tc.want, tc.w.Lock.ClaimedBy(tc.run, tc.by), tc.why) })
	}
}
