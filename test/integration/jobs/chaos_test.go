package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// chaosShares are the faults of single runs, and those that all runs meet.
func chaosShares() (own, shared []chaos.Share) {
	for _, kind := range []chaos.Kind{
		chaos.KeeperKilled, chaos.KeeperRestarted, chaos.ContainerKilled, chaos.ProgramKilled,
		chaos.MessageLost, chaos.AnswerLost, chaos.MessageRepeated, chaos.MessageLate,
	} {
		own = append(own, chaos.Share{Kind: kind, Times: 1})
	}
	for _, kind := range []chaos.Kind{
		chaos.ControllerKilled, chaos.ControllerFrozen, chaos.ControllerCut, chaos.StoreDown, chaos.StoreSlow, chaos.StoreFull,
		chaos.APIServerKilled, chaos.APIServerSlow, chaos.EtcdKilled,
	} {
		shared = append(shared, chaos.Share{Kind: kind, Times: 1})
	}
	return own, shared
}

// chaosSetting returns a number that make chaos gives.
func chaosSetting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text, set := os.LookupEnv(name)
	if !set {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// Runs follow each other in several Workspaces, each with a fault at some moment: keepers, containers, programs and the
// controller are killed, messages are lost, repeated and late, the store and the API server fail and are slow. No commit is
// lost, none is done twice, no run is stuck, no two programs of a Workspace run at once, and logs show their holes
// (JOBS.md J1, J3, J4, J6, J8, J9 and J11).
func TestChaosRuns(t *testing.T) {
	t.Parallel()
	seed, runs, lanes := chaosSetting(t, "SEED", 1), chaosSetting(t, "RUNS", 20), chaosSetting(t, "LANES", 4)
	u := newUpheaval(t, lanes)
	if _, chosen := os.LookupEnv("RUNS"); !chosen {
		u.bar = hopeless // beside other tests the machine is too busy for a time to mean something
	}
	ownShares, sharedShares := chaosShares()
	own, shared := chaos.NewPlan(uint64(seed), ownShares...), chaos.NewPlan(uint64(seed)+1<<32, sharedShares...)
	began := time.Now()
	for first := 0; first < runs/lanes && !t.Failed(); first += alone + together {
		assert.NoError(t, u.alone(first, own))
		for i := range together {
			assert.NoError(t, u.together(first+alone+i, shared.Next()))
		}
	}
	u.controller.end()
	u.report(seed, time.Since(began))
	u.judge()
}

// alone is how many Runs of each lane have a fault of their own, before as many as together meet one with all others.
const (
	alone    = 3
	together = 2
)

// alone carries Runs in each lane, each with a fault of its own.
func (u *upheaval) alone(first int, plan *chaos.Plan) error {
	errs := make([]error, len(u.lanes))
	var all sync.WaitGroup
	for i, l := range u.lanes {
		var steps []chaos.Step
		for range alone {
			steps = append(steps, plan.Next())
		}
		all.Go(func() {
			for n, s := range steps {
				errs[i] = errors.Join(errs[i], l.carry(first+n, s, true))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// together carries a Run in each lane, and has all of them meet one trouble.
func (u *upheaval) together(n int, s chaos.Step) error {
	errs := make([]error, len(u.lanes)+1)
	var all sync.WaitGroup
	for i, l := range u.lanes {
		own := s
		own.Hold = float64(i) / float64(len(u.lanes)) // it meets them at different moments
		all.Go(func() { errs[i] = l.carry(n, own, false) })
	}
	all.Go(func() {
		<-time.After(2 * time.Second)
		errs[len(u.lanes)] = u.disturb(s)
	})
	all.Wait()
	return errors.Join(errs...)
}

// report shows what came about.
func (u *upheaval) report(seed int, took time.Duration) {
	runs, missed, longest, ends := 0, 0, time.Duration(0), map[string]int{}
	for _, l := range u.lanes {
		runs += len(l.ends)
		missed += l.missed
		longest = max(longest, l.longest)
		for _, e := range l.ends {
			ends[string(e.end.Outcome)]++
		}
	}
	text := fmt.Sprintf("seed %d: %d Runs in %s, %d of which had ended before their fault; "+
		"the longest took %s to end after its last sign of life; the controller came back within %s\n%s",
		seed, runs, took.Round(time.Second), missed, longest.Round(100*time.Millisecond), u.back.Round(100*time.Millisecond), u.tally)
	for outcome, n := range ends {
		text += fmt.Sprintf("\n%6d ended %s", n, outcome)
	}
	u.t.Log(text)
}

// judge compares what is stored with what the runs noted.
func (u *upheaval) judge() {
	u.t.Helper()
	store, err := directory.Open(u.controller.Store)
	require.NoError(u.t, err)
	defer store.Close()
	s := &shelf{u.t, store}
	holes := 0
	for _, l := range u.lanes {
		journal, _ := l.journal()
		lineage := chaos.Lineage{Journal: journal}
		for _, e := range l.ends {
			lineage.Ends = append(lineage.Ends, s.end(l.uid, e))
		}
		assert.Empty(u.t, lineage.Faults(), l.name)
		wrote := lineage.Wrote()
		for _, e := range l.ends {
			log := s.log(l.uid, e)
			assert.Empty(u.t, log.Fault(wrote[e.run]))
			if !log.Ended && wrote[e.run] > 0 {
				holes++
			}
		}
	}
	u.t.Logf("0 lost commits and 0 double commits unless a fault is shown; %d logs show as cut off", holes)
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
	defer in.Close()
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
func (s *shelf) end(uid string, e seen) chaos.End {
	s.t.Helper()
	end := chaos.End{Run: e.run, Outcome: string(e.end.Outcome), Generation: e.state.State.Number, State: s.lines(e.state.State.Blob)}
	for _, o := range e.state.Orphans {
		end.Kept = append(end.Kept, s.lines(o.Blob))
	}
	if e.end.Fence == 0 {
		return end
	}
	stored, err := s.store.Below(s.t.Context(), uid, e.end.Fence, "state-")
	require.NoError(s.t, err)
	if len(stored) > 0 {
		text, _ := s.unpacked(slices.MaxFunc(stored, func(a, b blob.Info) int { return a.Stored.Compare(b.Stored) }).Key)
		end.Stored = &text
	}
	return end
}

// log returns the stored output of a run.
func (s *shelf) log(uid string, e seen) chaos.Log {
	s.t.Helper()
	log := chaos.Log{Run: e.run}
	r, err := logs.NewReader(s.store, logs.Attempt{Workspace: uid, Fence: e.end.Fence}, "stdout")
	require.NoError(s.t, err)
	for p, err := range r.Pieces(s.t.Context()) {
		require.NoError(s.t, err)
		log.Pieces = append(log.Pieces, chaos.Piece{Missing: p.Missing, Content: string(p.Content)})
	}
	log.Ended = r.Ended()
	return log
}
