package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// A person at night sees who held the lock, since when and where, and what is proposed.
func TestJobUnlock(t *testing.T) {
	tests := map[string]struct {
		why        string
		args       []string
		generation int64
		out        string
	}{
		"Proposed":   {"the checkpoint is newer", nil, 2, "JobWorkspace shop/web: Ready: the lock is free, and generation 2 is current"},
		"Checkpoint": {"by name", []string{"--accept", "checkpoint"}, 2, "Ready"},
		"Generation": {"another choice", []string{"--accept", "generation"}, 1, "generation 1 is current"},
		"Retry":      {"the same run", []string{"--retry"}, 1, "Starting: Run web-2 (attempt 2, fence 3) holds the lock"},
		"Discard":    {"nothing of it", []string{"--discard"}, 1, "generation 1 is current"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			j := newJobCluster(t)
			j.push(t, map[string]string{"a": "1"})
			j.lose(t, map[string]string{"a": "2"})
			code, out, errs := j.call("y\n", append([]string{"unlock", "web", "--because", "n3 burnt"}, tc.args...)...)
			require.Zero(t, code, errs)
			assert.Contains(t, out, "shop/web: NeedsRecovery\n  Run web-2 (attempt 1, fence 2) holds the lock of shop/web since ")
			assert.Contains(t, out, " on node n3 and needs a decision")
			assert.Contains(t, out, "  proposed: accept the checkpoint\n")
			assert.Contains(t, errs, "The program of web-2 must not run any more on node n3. Decide")
			assert.Contains(t, out, tc.out, tc.why)
			assert.Equal(t, tc.generation, j.World.Workspace("w").State.Number, tc.why)
			assert.Equal(t, "n3 burnt", j.deeds[len(j.deeds)-1].Because)
		})
	}
}

// Without a yes nothing is decided.
func TestJobUnlockAsks(t *testing.T) {
	j := newJobCluster(t)
	j.lose(t, map[string]string{"a": "2"})
	before := j.World.Workspace("w")
	code, _, errs := j.call("n\n", "unlock", "web", "--because", "x")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "nothing was changed: answer y, or use --yes")
	assert.Equal(t, before, j.World.Workspace("w"))
}

// A torn checkpoint needs its flag, as the message of the server advises.
func TestJobUnlockTorn(t *testing.T) {
	j := newJobCluster(t)
	j.lose(t, map[string]string{"a": "2"})
	j.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Checkpoint.Torn = true
		return w, nil
	})
	code, out, errs := j.call("", "unlock", "web", "--because", "x", "--accept", "checkpoint", "--yes")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, out, "checkpoint 4, torn: it may be half written")
	assert.Contains(t, errs, "then add --torn")
	code, _, errs = j.call("", "unlock", "web", "--because", "x", "--accept", "checkpoint", "--torn", "--yes")
	assert.Zero(t, code, errs)
}

// A person takes over what a JobWorkspace left, after a look at it.
func TestJobStateAdopt(t *testing.T) {
	j := newJobCluster(t)
	code, _, errs := j.call("", "state", "adopt", "web", "--because", "x", "--yes")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "no state was left by an earlier JobWorkspace shop/web: --from takes NAMESPACE/NAME")
	j.push(t, map[string]string{"a": "1"})
	archive := j.World.Workspace("w").State.Blob
	j.push(t, map[string]string{"a": "2"})
	for _, l := range []evidence.Left{
		{Name: "shop/web", UID: "old", Generation: 4, Archive: archive},
		{Name: "shop-old/web", UID: "older", Generation: 7, Destroyed: true, Archive: archive},
	} {
		require.NoError(t, evidence.Leave(t.Context(), j.store, l))
	}
	code, _, errs = j.call("", "state", "adopt", "web", "--from", "shop-old/web", "--because", "x", "--yes")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "the JobWorkspace that left the state was destroyed: to adopt it anyway, use --from older")
	code, out, errs := j.call("n\n", "state", "adopt", "web", "--from", "older", "--because", "x")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, out, "destroyed")
	assert.Contains(t, errs, "Adopt generation 7 of UID older in place of generation 2 of shop/web?")
	code, out, errs = j.call("y\n", "state", "adopt", "web", "--because", "deleted by mistake")
	require.Zero(t, code, errs)
	assert.Contains(t, out, "LEFT BY")
	assert.Contains(t, out, "JobWorkspace shop/web: Ready: the lock is free, and generation 3 is current\n")
	assert.Equal(t, archive.Digest, j.World.Workspace("w").State.Digest)
	assert.Equal(t, "deleted by mistake", j.deeds[len(j.deeds)-1].Because)
	code, _, errs = j.call("", "state", "adopt", "web", "--from", "none/none", "--because", "x", "--yes")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, `no state was left by JobWorkspace "none/none", or you may not read it, or it is not gone`)
}

func TestJobStateShow(t *testing.T) {
	j := newJobCluster(t)
	_, out, errs := j.call("", "state", "show", "web")
	assert.Equal(t, "shop/web: Ready\n  the lock is free, and generation 0 is current\n\n", out)
	assert.Contains(t, errs, "there is no state yet: generation 0 is empty")
	j.push(t, map[string]string{"a": "1"})
	j.push(t, map[string]string{"a": "2"})
	w := j.World.Workspace("w")
	_, out, _ = j.call("", "state", "show", "web")
	assert.Contains(t, out, "STATE     DIGEST         BYTES")
	assert.Contains(t, out, "current   "+w.State.Digest[7:19])
	assert.Contains(t, out, "the push of ann   generation 2\n1         "+w.Kept[0].Digest[7:19])
	_, out, _ = j.call("", "state", "show", "web", "-o", "json")
	var s people.State
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	assert.Equal(t, w.State.Key, s.State.Generation.Archive.Key)
	_, out, _ = j.call("", "state", "show", "web", "-o", "yaml")
	assert.Contains(t, out, "\nphase: Ready\n")
}

func TestJobStatePull(t *testing.T) {
	j := newJobCluster(t)
	j.push(t, map[string]string{"a": "1"})
	j.push(t, map[string]string{"a": "2"})
	w := j.World.Workspace("w")
	for named, want := range map[string]string{"": "2", "current": "2", "2": "2", "1": "1", w.Kept[0].Digest: "1", w.Kept[0].Digest[7:15]: "1"} {
		t.Run("state "+named, func(t *testing.T) {
			at := filepath.Join(t.TempDir(), "new")
			args := []string{"state", "pull", "web", at}
			if named != "" {
				args = append(args, named)
			}
			code, out, errs := j.call("", args...)
			require.Zero(t, code, errs)
			assert.Contains(t, out, "of JobWorkspace shop/web is in "+at)
			text, err := os.ReadFile(filepath.Join(at, "a"))
			require.NoError(t, err)
			assert.Equal(t, want, string(text))
		})
	}
	code, _, errs := j.call("", "state", "pull", "web", folder(t, map[string]string{"x": "y"}))
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "is not empty")
	code, _, errs = j.call("", "state", "pull", "web", t.TempDir(), "currnt")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, `has no state "currnt": did you mean "current"?`)
}

// A state may hold secrets: others cannot read it, also where the folder was there before. A folder with files of others
// stays as it is.
func TestJobStatePullIsPrivate(t *testing.T) {
	j := newJobCluster(t)
	j.push(t, map[string]string{"a": "1"})
	bare, full := t.TempDir(), folder(t, map[string]string{"x": "y"})
	for _, at := range []string{bare, full} {
		require.NoError(t, os.Chmod(at, 0o755))
		_, _, _ = j.call("", "state", "pull", "web", at)
	}
	for at, want := range map[string]fs.FileMode{bare: 0o700, full: 0o755} {
		info, err := os.Stat(at)
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm())
	}
	assert.FileExists(t, filepath.Join(bare, "a"))
}

func TestJobStatePush(t *testing.T) {
	j := newJobCluster(t)
	code, out, errs := j.call("y\n", "state", "push", "web", folder(t, map[string]string{"a": "1"}), "--because", "moved")
	require.Zero(t, code, errs)
	assert.Contains(t, errs, "Replace generation 0 by the files of")
	assert.Contains(t, out, "JobWorkspace shop/web: generation 1 is current\n")
	j.lose(t, map[string]string{"a": "2"})
	code, _, errs = j.call("", "state", "push", "web", folder(t, nil), "--because", "x", "--yes")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "cannot push a state to JobWorkspace shop/web")
	assert.Contains(t, errs, "`orcon job unlock shop/web --because TEXT`")
}

func TestJobStateRollback(t *testing.T) {
	j := newJobCluster(t)
	for _, text := range []string{"1", "2", "3"} {
		j.push(t, map[string]string{"a": text})
	}
	code, out, errs := j.call("y\n", "state", "rollback", "web", "--because", "x")
	require.Zero(t, code, errs)
	assert.Contains(t, errs, "Go back to generation 2?")
	assert.Contains(t, out, "generation 4 is current")
	code, _, errs = j.call("", "state", "rollback", "web", "1", "--because", "x", "--yes")
	require.Zero(t, code, errs)
	assert.Equal(t, "ann, from generation 1", j.World.Workspace("w").State.Author)
	for _, wrong := range []string{"first", "0"} {
		code, _, errs = j.call("", "state", "rollback", "web", wrong, "--because", "x", "--yes")
		assert.Equal(t, exitMisuse, code)
		assert.Contains(t, errs, `"`+wrong+`" is not the number of a generation: orcon job state show web -n shop lists those that are kept`)
	}
	code, _, errs = j.call("", "state", "rollback", "web", "5", "--because", "x", "--yes")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "it is the current one")
}

// Each way of accepting is for one phase.
func TestJobStateAccept(t *testing.T) {
	j := newJobCluster(t)
	j.push(t, map[string]string{"a": "1"})
	j.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.State.Exit, w.State.Accepted = job.Exit{Cause: job.Killed}, false
		return w, nil
	})
	code, out, errs := j.call("", "state", "accept", "web", "--because", "compared", "--yes")
	require.Zero(t, code, errs)
	assert.Contains(t, out, "shop/web: NeedsAccept")
	assert.Contains(t, out, "its program: Killed")
	assert.True(t, j.World.Workspace("w").State.Accepted)

	code, out, errs = j.call("", "state", "accept", "web", "--because", "x", "--store", "newest")
	assert.Equal(t, exitMisuse, code)
	assert.Equal(t, "orcon: JobWorkspace shop/web has nothing to accept: its store is not ahead\n", errs)
	assert.Empty(t, out, "nothing is asked")

	older := j.World.Workspace("w")
	j.push(t, map[string]string{"a": "2"})
	j.change(t, func(workspace.Workspace) (workspace.Workspace, error) { return older, nil })
	code, _, errs = j.call("", "state", "accept", "web", "--because", "x", "--yes")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "`orcon job state accept shop/web --because TEXT --store newest` or `--store ignore`")
	code, out, _ = j.call("", "state", "diff", "web")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, "to store (generation 2 of the store)")
	code, _, errs = j.call("", "state", "accept", "web", "--because", "x", "--store", "ignore", "--yes")
	require.Zero(t, code, errs)
	orphans := j.World.Workspace("w").Orphans
	require.Len(t, orphans, 1)

	code, out, _ = j.call("", "state", "diff", "web")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, "(orphan since ")
	digest := orphans[0].Digest[7:15]
	code, _, errs = j.call("", "state", "accept", "web", "--because", "x", "--orphan", digest, "--yes")
	require.Zero(t, code, errs)
	assert.Equal(t, orphans[0].Digest, j.World.Workspace("w").State.Digest)
}

// The lock of a lost run is taken by unlock alone, which asks whether its program still runs (JOBS.md J6).
func TestJobStateAcceptHeld(t *testing.T) {
	j := newJobCluster(t)
	j.lose(t, map[string]string{"a": "2"})
	orphan := workspace.Blob{Digest: "sha256:" + strings.Repeat("a", 64), Key: "w/0000000000000000001/state-a", Fence: 1}
	j.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Orphans = append(w.Orphans, workspace.Orphan{Blob: orphan})
		return w, nil
	})
	held := j.World.Workspace("w").Lock
	require.True(t, held.Held())
	code, _, errs := j.call("", "state", "accept", "web", "--because", "x", "--orphan", "aaaaaaaa", "--yes")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "orcon job unlock web -n shop")
	assert.Equal(t, held, j.World.Workspace("w").Lock)
}

func TestJobStateDiscard(t *testing.T) {
	j := newJobCluster(t)
	j.lose(t, map[string]string{"a": "2"})
	code, _, errs := j.call("", "unlock", "web", "--because", "x", "--accept", "generation", "--yes")
	require.Zero(t, code, errs)
	digest := j.World.Workspace("w").Orphans[0].Digest[7:15]
	code, _, errs = j.call("y\n", "state", "discard", "web", digest, "--because", "not needed")
	require.Zero(t, code, errs)
	assert.True(t, j.World.Workspace("w").Orphans[0].Discarded)
	_, out, _ := j.call("", "state", "show", "web")
	assert.Contains(t, out, ", discarded")
}

// A beginning of digests that fits several states names none of them, and an orphan is never taken for a generation.
func TestChooseState(t *testing.T) {
	archive := func(digest string) *v1alpha1.JobArchive {
		return &v1alpha1.JobArchive{Digest: "sha256:" + digest, Key: "key-" + digest}
	}
	s := people.State{Namespace: "shop", Name: "web", State: v1alpha1.JobWorkspaceState{
		Generation: &v1alpha1.JobGeneration{Number: 123456, Archive: archive("abcdef11")},
		Kept:       []v1alpha1.JobGeneration{{Number: 2, Archive: archive("abcdef22")}, {Number: 1, Archive: archive("abcdef22")}},
		Orphans:    []v1alpha1.JobOrphan{{Archive: archive("abcdef11")}, {Archive: archive("123456aa"), Decision: v1alpha1.DecisionDiscarded}, {}},
	}}
	tests := map[string]struct {
		why, named string
		orphan     bool
		key, says  string
	}{
		"Number":    {"a number is one of a generation first", "123456", false, "key-abcdef11", ""},
		"Digest":    {"a beginning that fits one digest", "abcdef2", false, "key-abcdef22", ""},
		"Full":      {"as it is stored", "sha256:abcdef22", false, "key-abcdef22", ""},
		"Several":   {"two digests", "abcdef", false, "", `has several states whose digests begin with "abcdef": write more of the digest`},
		"Short":     {"too short to be meant", "abcde", false, "", `has no state "abcde"`},
		"Orphan":    {"one orphan has it", "abcdef", true, "key-abcdef11", ""},
		"Discarded": {"also one that was given up", "123456", true, "key-123456aa", ""},
		"NoOrphan":  {"a generation", "abcdef22", true, "", `has no orphan "abcdef22"`},
		"Current":   {"nor by another name", "current", true, "", `has no orphan "current"`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			look := choose
			if tc.orphan {
				look = chooseOrphan
			}
			got, err := look(s, tc.named)
			assert.Equal(t, tc.key, got.key, tc.why)
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.says)
		})
	}
	_, to, err := comparedStates(s, nil)
	require.NoError(t, err)
	assert.Equal(t, "key-abcdef11", to.key, "the last orphan that was not given up")
}

// The files of two states are compared, and their content is not printed.
func TestJobStateDiff(t *testing.T) {
	j := newJobCluster(t)
	j.push(t, map[string]string{"same": "1", "gone": "12", "changed": "secret"})
	j.push(t, map[string]string{"same": "1", "new": "123", "changed": "hidden!"})
	code, out, errs := j.call("", "state", "diff", "web", "1", "current")
	assert.Equal(t, exitFailed, code, errs)
	assert.Equal(t, "from 1 (generation 1) to current (generation 2):\nCHANGE    FILE      FROM                 TO\n"+
		"changed   changed   6 bytes -rw-------   7 bytes -rw-------\nremoved   gone      2 bytes -rw-------   \nadded     new                            3 bytes -rw-------\n", out)
	code, out, errs = j.call("", "state", "diff", "web", "2", "current", "-o", "json")
	assert.Zero(t, code, errs)
	assert.Equal(t, "[]\n", out)
	assert.Contains(t, errs, "from current (generation 2) to current")
	_, out, _ = j.call("", "state", "diff", "web")
	assert.Contains(t, out, "from current (generation 2) to 1 (generation 1):", "for want of anything to decide")
	j.lose(t, map[string]string{"same": "1"})
	_, out, _ = j.call("", "state", "diff", "web")
	assert.Contains(t, out, "from current (generation 2) to checkpoint (checkpoint 4):")
	assert.Len(t, j.deeds, 10, "each state that was read is recorded")
}
