package run_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

//nolint:gochecknoglobals // values that all tests share
var (
	now = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	one = workspace.Run{UID: "1", Name: "one"}
	two = workspace.Run{UID: "2", Name: "two"}
)

func waiting(uid string, minute int, cancelled bool) run.Waiting {
	return run.Waiting{Run: workspace.Run{UID: uid, Name: uid}, Created: now.Add(time.Duration(minute) * time.Minute), Cancelled: cancelled}
}

// At most one Run is next, and only if the lock is free; every other one waits or ends with an outcome (JOBS.md J1
// and J4).
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w workspace.Workspace
		if rapid.Bool().Draw(t, "held") {
			w.Lock = workspace.Lock{Fence: 1, Run: workspace.Run{UID: "a", Name: "a"}}
		}
		var runs []run.Waiting
		for i := range rapid.IntRange(0, 6).Draw(t, "runs") {
			runs = append(runs, waiting(string(rune('a'+i)), rapid.IntRange(0, 2).Draw(t, "minute"), rapid.Bool().Draw(t, "cancelled")))
		}
		policy := rapid.SampledFrom([]job.Concurrency{job.Queue, job.Reject, job.SupersedeQueued}).Draw(t, "policy")
		places := run.Queue(policy, w, runs)
		again := run.Queue(policy, w, rapid.Permutation(runs).Draw(t, "order"))
		assert.Equal(t, places, again)
		next, lasting := 0, 0
		for _, p := range places {
			assert.NotEqual(t, w.Lock.Run, p.Run)
			switch {
			case p.Ended.Ended():
				assert.False(t, p.Next)
				assert.Equal(t, job.None, p.Ended.Outcome)
			case p.Next:
				next++
				fallthrough
			default:
				lasting++
			}
		}
		assert.LessOrEqual(t, next, 1)
		assert.Equal(t, next == 1, lasting > 0 && !w.Lock.Held())
		if policy != job.Queue {
			assert.LessOrEqual(t, lasting, 1)
		}
	})
}

// Each policy does what it says.
func TestPolicies(t *testing.T) {
	runs := []run.Waiting{waiting("b", 2, false), waiting("a", 1, false), waiting("c", 3, false), waiting("x", 0, true)}
	tests := map[string]struct {
		policy job.Concurrency
		want   map[string]string
	}{
		"Queue":     {job.Queue, map[string]string{"x": "Cancelled", "a": "next", "b": "1", "c": "2"}},
		"Reject":    {job.Reject, map[string]string{"x": "Cancelled", "a": "next", "b": "Rejected", "c": "Rejected"}},
		"Supersede": {job.SupersedeQueued, map[string]string{"x": "Cancelled", "a": "Superseded", "b": "Superseded", "c": "next"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got := map[string]string{}
			for _, p := range run.Queue(tc.policy, workspace.Workspace{}, runs) {
				switch {
				case p.Ended.Ended():
					got[p.Run.UID] = p.Ended.Reason
				case p.Next:
					got[p.Run.UID] = "next"
				default:
					got[p.Run.UID] = string(rune('0' + p.Ahead))
				}
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

// A status follows from the Workspace and the pod; it names the command that helps, and an end has an outcome
// (JOBS.md J4).
func TestDerive(t *testing.T) {
	lock := workspace.Lock{Run: one, Attempt: 2, Fence: 4, Timing: job.DefaultTiming()}
	claimed := lock
	claimed.Claimant = workspace.Claimant{ID: "p", Where: "node-a"}
	lost, failed, large, idempotent := claimed, claimed, claimed, claimed
	lost.Recovery.Reason = workspace.Vanished
	failed.Recovery.Reason, large.Recovery.Reason = workspace.CaptureFailed, workspace.StateTooLarge
	idempotent.Safety, idempotent.Recovery.Reason = job.Idempotent, workspace.Silent
	end := func(o job.Outcome, e job.Exit) workspace.Workspace {
		return workspace.Workspace{Name: "shop/db", Last: workspace.Ended{Run: one, Attempt: 1, Fence: 3, Outcome: o, Exit: e}}
	}
	held := func(l workspace.Lock) workspace.Workspace {
		return workspace.Workspace{Name: "shop/db", Fence: 4, Lock: l}
	}
	tests := map[string]struct {
		facts run.Facts
		from  workspace.Workspace
		phase run.Phase
		says  string
		ended bool
	}{
		"Next":      {from: workspace.Workspace{}, phase: run.Queued, says: "starts next"},
		"Waits":     {facts: run.Facts{Run: two}, from: held(claimed), phase: run.Queued, says: "Run one (attempt 2, fence 4) holds the lock of shop/db"},
		"Withdrawn": {facts: run.Facts{Run: two, Cancelled: true}, from: held(claimed), phase: run.Cancelled, says: "before it started", ended: true},
		"Admitted":  {from: held(lock), phase: run.Starting, says: "being made"},
		"Made":      {facts: run.Facts{Pod: run.Pod{Made: true}}, from: held(lock), phase: run.Starting, says: "being made"},
		"Pending":   {facts: run.Facts{Pod: run.Pod{Made: true, Progress: "its pod waits for a node"}}, from: held(lock), phase: run.Starting, says: "waits for a node"},
		"Unclaimed": {
			facts: run.Facts{Pod: run.Pod{Made: true, Progress: "its keeper"}, Delay: job.Delay{Stage: job.Preparing, Why: "cannot claim the run: the disk is full"}},
			from:  held(lock), phase: run.Starting,
			says: "its program has not started: cannot claim the run: the disk is full; its keeper tries again, and `orcon job cancel shop/one` ends the run",
		},
		"Unprepared": {
			facts: run.Facts{Delay: job.Delay{Stage: job.Preparing, Why: "cannot fetch the state: refused"}}, from: held(claimed), phase: run.Starting,
			says: "has not started: cannot fetch the state",
		},
		"NoCheckpoint": {
			facts: run.Facts{Delay: job.Delay{Stage: job.Carrying, Why: "cannot store a checkpoint: refused"}}, from: held(claimed), phase: run.Running,
			says: "it runs on node-a, and its state cannot be stored now: cannot store a checkpoint: refused",
		},
		"NoImage":   {facts: run.Facts{Pod: run.Pod{Made: true, Obstacle: "ImagePullBackOff"}}, from: held(lock), phase: run.Starting, says: "ImagePullBackOff; the run starts once that is corrected, and `orcon job cancel shop/one` ends it"},
		"Running":   {from: held(claimed), phase: run.Running, says: "node-a"},
		"Stopping":  {facts: run.Facts{Cancelled: true}, from: held(claimed), phase: run.Running, says: "it has 2m0s"},
		"Capturing": {facts: run.Facts{Pod: run.Pod{Stopped: true}}, from: held(claimed), phase: run.Capturing, says: "being stored"},
		"Unstored":  {facts: run.Facts{Cancelled: true, Delay: job.Delay{Why: "the disk is full"}}, from: held(claimed), phase: run.Capturing, says: "waits to be stored: the disk is full"},
		"Lost":      {from: held(lost), phase: run.Lost, says: "may still run on node-a: decide with `orcon job unlock shop/db --because TEXT --accept generation`"},
		"NotStored": {facts: run.Facts{Problem: "x links to /etc"}, from: held(failed), phase: run.Lost, says: "its process has ended (exit code 0), and its state could not be committed: x links to /etc: decide with `orcon job unlock shop/db"},
		"TooLarge": {
			facts: run.Facts{Problem: "it has 9 bytes"}, from: held(large), phase: run.Lost,
			says: "and its state is too large, and kept as an orphan: it has 9 bytes: decide with",
		},
		"Killed":     {from: end(job.Committed, job.Exit{Cause: job.Killed}), phase: run.Failed, says: "it was killed from outside, or for lack of memory: `orcon job logs shop/one`; its state is committed", ended: true},
		"NoMemory":   {facts: run.Facts{Pod: run.Pod{OutOfMemory: true}}, from: end(job.Committed, job.Exit{Cause: job.Killed}), phase: run.Failed, says: "for lack of memory: raise the limit", ended: true},
		"LostSafe":   {from: held(idempotent), phase: run.Lost, says: "released after 3m15s of silence"},
		"Succeeded":  {from: end(job.Committed, job.Exit{}), phase: run.Succeeded, says: "its state is committed", ended: true},
		"Failed":     {from: end(job.Committed, job.Exit{Code: 3}), phase: run.Failed, says: "exit code 3: `orcon job logs shop/one`; its state is committed", ended: true},
		"Outside":    {facts: run.Facts{Problem: "its container was stopped"}, from: end(job.Committed, job.Exit{}), phase: run.Succeeded, says: "it succeeded; its container was stopped; its state is committed", ended: true},
		"Asked":      {facts: run.Facts{Cancelled: true, Problem: "its container was stopped"}, from: end(job.Committed, job.Exit{}), phase: run.Cancelled, says: "its process has ended (exit code 0); its state is committed", ended: true},
		"Itself":     {facts: run.Facts{Cancelled: true}, from: end(job.Committed, job.Exit{Code: 3}), phase: run.Cancelled, says: "its process has ended (exit code 3); its state is committed", ended: true},
		"NotKept":    {from: end(job.Failed, job.Exit{}), phase: run.Failed, says: "its state is failed", ended: true},
		"Cancelled":  {facts: run.Facts{Cancelled: true}, from: end(job.Committed, job.Exit{Code: 143}), phase: run.Cancelled, says: "its process was stopped (exit code 143); its state is committed", ended: true},
		"TimedOut":   {facts: run.Facts{TimedOut: true}, from: end(job.Unchanged, job.Exit{Cause: job.Killed}), phase: run.TimedOut, says: "Killed", ended: true},
		"Unknown":    {facts: run.Facts{Cancelled: true}, from: end(job.Unknown, job.Exit{Cause: job.Unreported}), phase: run.Lost, says: "goes on from generation 0", ended: true},
		"Accepted":   {from: end(job.Committed, job.Exit{Cause: job.Unreported}), phase: run.Lost, says: "its state is committed", ended: true},
		"EndIsFinal": {facts: run.Facts{Published: run.Status{Phase: run.Failed, Message: "as before", Outcome: job.Unknown}}, from: held(claimed), phase: run.Failed, says: "as before", ended: true},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			if tc.facts.Run.UID == "" {
				tc.facts.Run = one
			}
			got := run.Derive(tc.facts, tc.from)
			assert.Equal(t, tc.phase, got.Phase)
			assert.Contains(t, got.Message, tc.says)
			assert.Equal(t, tc.ended, got.Ended())
			if label != "EndIsFinal" {
				assert.True(t, explained(got.Conditions(), run.Meanings()), "%s is not explained", got.Reason)
			}
		})
	}
	assert.Equal(t, int64(4), run.Derive(run.Facts{Run: one}, held(claimed)).Fence)
	assert.Equal(t, "StateTooLarge", run.Derive(run.Facts{Run: one}, held(large)).Reason)
}

// A Run that waits for what is not there, and one that never can start, show why (JOBS.md J4).
func TestUnfrozen(t *testing.T) {
	missing, refused := run.Missing("create it"), run.Refused(errors.New("no such action"))
	assert.Equal(t, run.Queued, missing.Phase)
	assert.False(t, missing.Ended())
	assert.Equal(t, run.Failed, refused.Phase)
	assert.Equal(t, job.None, refused.Outcome)
	for _, s := range []run.Status{missing, refused} {
		assert.True(t, explained(s.Conditions(), run.Meanings()), s.Reason)
	}
	for fence, want := range map[int64]job.Outcome{0: job.None, 3: job.Unknown} {
		s := run.Forsaken(1, fence)
		assert.Equal(t, want, s.Outcome)
		assert.Equal(t, fence, s.Fence)
		assert.True(t, explained(s.Conditions(), run.Meanings()), s.Reason)
	}
	absent := run.Withdrawn("there is no JobWorkspace db in namespace shop")
	assert.Equal(t, run.Cancelled, absent.Phase)
	assert.Equal(t, "it was cancelled before it started: there is no JobWorkspace db in namespace shop", absent.Message)
	assert.True(t, explained(absent.Conditions(), run.Meanings()))
	s := run.Derive(run.Facts{Run: one, Obstacle: "the store does not answer"}, workspace.Workspace{})
	assert.Equal(t, "the store does not answer", s.Message)
}

// A Workspace that is deleted by itself destroys if asked; otherwise nothing is destroyed; and no step waits without
// a reason (JOBS.md J18).
func TestEndOf(t *testing.T) {
	held := workspace.Workspace{Name: "shop/db", Fence: 1, Lock: workspace.Lock{Run: one, Fence: 1}}
	running := held
	running.Lock.Claimant.ID, running.Lock.Timing = "p", job.DefaultTiming()
	lost := held
	lost.Lock.Recovery.Reason = workspace.Silent
	free := workspace.Workspace{Name: "shop/db", Fence: 1}
	many := []time.Time{now.Add(-59 * time.Second), now, now, now, now}
	tests := map[string]struct {
		from workspace.Workspace
		is   run.Deletion
		want run.Farewell
		says string
	}{
		"Stopping":   {running, run.Deletion{Namespace: true, Begun: now.Add(-time.Minute)}, run.AwaitRun, "nothing is destroyed, and its run is stopped first"},
		"Stopped":    {running, run.Deletion{Definition: true, Begun: now.Add(-4 * time.Minute)}, run.LetGo, "the kind JobWorkspace"},
		"Leaving":    {running, run.Deletion{Namespace: true, Orcon: true, Begun: now}, run.LetGo, "nothing is destroyed"},
		"Namespace":  {held, run.Deletion{Destroy: true, Namespace: true}, run.LetGo, "the namespace is being deleted: nothing is destroyed"},
		"Definition": {free, run.Deletion{Destroy: true, Definition: true}, run.LetGo, "the kind JobWorkspace"},
		"Orcon":      {lost, run.Deletion{Destroy: true, Orcon: true}, run.LetGo, "the state of shop/db stays in the store"},
		"Running":    {held, run.Deletion{Destroy: true}, run.AwaitRun, "Run one"},
		"Lost":       {lost, run.Deletion{}, run.AwaitPerson, "orcon job unlock shop/db"},
		"Keep":       {free, run.Deletion{}, run.LetGo, "nothing is destroyed, and the state of shop/db stays in the store"},
		"Destroy":    {free, run.Deletion{Destroy: true, Destroys: many[:4]}, run.StartDestroy, "starts"},
		"Many":       {free, run.Deletion{Destroy: true, Destroys: many}, run.AwaitConsent, "5 Workspaces were destroyed"},
		"Patient":    {free, run.Deletion{Destroy: true, Waiting: true}, run.AwaitConsent, "annotation orcon.tengu.io/consent=destroy of shop/db"},
		"Agreed":     {free, run.Deletion{Destroy: true, Destroys: many, Confirmed: true}, run.StartDestroy, "starts"},
		"Old":        {free, run.Deletion{Destroy: true, Destroys: append([]time.Time{now.Add(-time.Minute)}, many[1:]...)}, run.StartDestroy, "starts"},
		"Failed":     {free, run.Deletion{Destroy: true, DestroyFailed: true}, run.AwaitPerson, "--action destroy"},
		"Done":       {free, run.Deletion{Destroy: true, Destroyed: true}, run.LetGo, "everything was destroyed"},
		"Ahead":      {free, run.Deletion{Destroy: true, Extent: workspace.Extent{Fence: 2}}, run.AwaitPerson, "the store is ahead"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			tc.is.Now = now
			got, why := run.EndOf(tc.from, tc.is)
			assert.Equal(t, tc.want, got)
			assert.Contains(t, why, tc.says)
			assert.True(t, explained(got.Conditions(why), run.FarewellMeanings()), got)
		})
	}
}
