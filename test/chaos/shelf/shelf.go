package shelf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// Lane is a Workspace, whose states are stored in plain, and its Runs in their order.
type Lane struct {
	Name, UID string
	// Journal is what the runs noted outside, as chaos.Lineage reads it.
	Journal string
	Ends    []Seen
}

// Seen is a Run that has ended, and its Workspace then.
type Seen struct {
	Run, UID string
	End      v1alpha1.JobRunEnd
	State    workspace.Workspace
	// Accepted reports that a person made its checkpoint the generation.
	Accepted bool
}

// Judge compares what is stored with what the Runs noted, and returns how many logs show as cut off.
func Judge(t testing.TB, store *directory.Store, lanes []Lane) (cutOff int) {
	t.Helper()
	s := &shelf{t, store}
	for _, l := range lanes {
		lineage := chaos.Lineage{Journal: l.Journal}
		for _, e := range l.Ends {
			lineage.Ends = append(lineage.Ends, s.end(l.UID, e))
		}
		assert.Empty(t, lineage.Faults(), l.Name)
		wrote := lineage.Wrote()
		for _, e := range l.Ends {
			log := s.log(l.UID, e)
			assert.Empty(t, log.Fault(wrote[e.Run]))
			if !log.Ended && wrote[e.Run] > 0 {
				cutOff++
			}
		}
	}
	return cutOff
}

// shelf reads what the store has.
type shelf struct {
	t     testing.TB
	store *directory.Store
}

// lines returns the file of an archive that a Workspace names.
func (s *shelf) lines(b workspace.Blob) string {
	s.t.Helper()
	if b.Key == "" {
		return ""
	}
	key, err := blob.ParseKey(b.Key)
	require.NoError(s.t, err)
	text, digest := s.unpacked(key)
	require.Equal(s.t, b.Digest, digest)
	return text
}

// unpacked returns the file of an archive, and the digest of the archive.
func (s *shelf) unpacked(key blob.Key) (text, digest string) {
	s.t.Helper()
	in, err := s.store.Get(s.t.Context(), key)
	require.NoError(s.t, err)
	defer in.Close() //nolint:errcheck // it is only read
	packed, err := io.ReadAll(in)
	require.NoError(s.t, err)
	summary, err := state.Verify(bytes.NewReader(packed), 1<<20)
	require.NoError(s.t, err)
	folder, err := os.MkdirTemp(s.t.TempDir(), "state-")
	require.NoError(s.t, err)
	require.NoError(s.t, state.Restore(folder, bytes.NewReader(packed), summary.Digest, 1<<20))
	lines, err := os.ReadFile(filepath.Join(folder, "lines"))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(s.t, err)
	}
	return string(lines), summary.Digest
}

// end returns the end of a run with the contents of its archives.
func (s *shelf) end(uid string, e Seen) chaos.End {
	s.t.Helper()
	end := chaos.End{Run: e.Run, Outcome: string(e.End.Outcome), Generation: e.State.State.Number, State: s.lines(e.State.State.Blob), Accepted: e.Accepted}
	for _, o := range e.State.Orphans {
		end.Kept = append(end.Kept, s.lines(o.Blob))
	}
	if e.End.Fence == 0 {
		return end
	}
	stored, err := s.store.Below(s.t.Context(), uid, e.End.Fence, "state-")
	require.NoError(s.t, err)
	if len(stored) > 0 {
		text, _ := s.unpacked(slices.MaxFunc(stored, func(a, b blob.Info) int { return a.Stored.Compare(b.Stored) }).Key)
		end.Stored = &text
	}
	return end
}

// log returns the stored output of a run.
func (s *shelf) log(uid string, e Seen) chaos.Log {
	s.t.Helper()
	log := chaos.Log{Run: e.Run}
	r, err := logs.NewReader(s.store, logs.Attempt{Workspace: uid, Fence: e.End.Fence}, "stdout")
	require.NoError(s.t, err)
	for p, err := range r.Pieces(s.t.Context()) {
		require.NoError(s.t, err)
		log.Pieces = append(log.Pieces, chaos.Piece{Missing: p.Missing, Content: string(p.Content)})
	}
	log.Ended = r.Ended()
	return log
}
