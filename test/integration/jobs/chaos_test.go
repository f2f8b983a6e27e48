package jobs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos/shelf"
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
			ends[string(e.End.Outcome)]++
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
	var all []shelf.Lane
	for _, l := range u.lanes {
		journal, _ := l.journal()
		all = append(all, shelf.Lane{Name: l.name, UID: l.uid, Journal: journal, Ends: l.ends})
	}
	holes := shelf.Judge(u.t, store, all)
	u.t.Logf("0 lost commits and 0 double commits unless a fault is shown; %d logs show as cut off", holes)
}
