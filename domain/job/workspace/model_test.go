package workspace_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the model speaks the words of the room
)

// Flags of the model: go test ./domain/job/workspace -run Model -seed 4711 shows one interleaving.
//
//nolint:gochecknoglobals // flags
var (
	seed          = flag.Uint64("seed", 0, "the interleaving to run alone, with its steps; 0 for all")
	interleavings = flag.Uint64("interleavings", 100_000, "how many interleavings the model test runs")
)

// Whatever claimants, controllers and persons do, however messages are lost, repeated, delayed and reordered, and whatever
// dies at whichever step, JOBS.md J1–J8 and J20 hold.
func TestModel(t *testing.T) {
	first, last := uint64(1), *interleavings
	if *seed != 0 {
		first, last = *seed, *seed
	}
	if testing.Short() {
		last = min(last, first+last/50)
	}
	var next, steps atomic.Uint64
	counts := map[string]*atomic.Uint64{}
	for _, cause := range causes {
		counts[cause] = new(atomic.Uint64)
	}
	next.Store(first)
	var failed sync.Map
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for at := next.Add(1) - 1; at <= last; at = next.Add(1) - 1 {
				m := newModel(at)
				if err := m.run(); err != nil {
					again := newModel(at)
					again.loud = true
					_ = again.run()
					failed.Store(at, fmt.Errorf("seed %d: %w\n%s", at, err, strings.Join(again.trace, "\n")))
					return
				}
				steps.Add(uint64(m.steps))
				for cause, n := range m.counts {
					counts[cause].Add(n)
				}
			}
		})
	}
	workers.Wait()
	failed.Range(func(_, err any) bool {
		t.Error(err)
		return true
	})
	t.Logf("%d interleavings (seeds %d to %d), %d steps", last-first+1, first, last, steps.Load())
	for _, cause := range causes {
		t.Logf("%9d × %s", counts[cause].Load(), cause)
		assert.True(t, *seed != 0 || counts[cause].Load() > 0, "the model never comes to %s", cause)
	}
}

// causes are the changes of a Workspace that the model counts.
//
//nolint:gochecknoglobals // a table
var causes = []string{
	"acquire", "claim", "save", "end", "complete claim", "replace", "withdraw", "lose", "expire", "person", "restore", "committed",
	"unchanged", "orphaned", "failed", "unknown", "none", "the store is ahead", "sweep", "plan", "apply", "void plan", "replaced plan",
}

// timing makes times short, so that every one of them passes often.
//
//nolint:gochecknoglobals // a constant
var timing = job.Timing{Lost: 6 * time.Second, Grace: 4 * time.Second}

// model is one Workspace and all that acts on it.
type model struct {
	r     *rand.Rand
	steps int
	trace []string
	loud  bool
	// fair is set at the end: nothing is lost, nothing dies, and persons decide.
	fair bool

	now      time.Duration
	ws       Workspace
	version  int
	snaps    []Workspace
	restores int
	choice   string // the person's last
	fault    error
	counts   map[string]uint64

	blobs   map[string]object // the store's archives by key
	claims  map[int64]string  // the store's record of claims by fence
	records map[int64]Blob    // the store's records of generations
	runs    []*run
	pods    []*pod
	net     []message
	pending []change // decided by the controller, and not written yet
	watch   job.Watch
	ends    []*run // the ends in statuses of Runs, in their order
	seen    int    // how many of them the controller's cache shows
	leases  map[int64]int64
	served  int64 // the highest fence that a Run's status names

	granted map[int64]string // which claimant each fence was granted to
	history map[int64]Blob   // which archive each generation is
	gone    map[string]bool  // referred to by a restored object, but deleted before
	plans   []string         // the digests of all plans
	applied map[string]*run  // which Run was let apply each plan
}

type run struct {
	Run
	cancelled bool
	// plans reports that it leaves a plan; applies is the digest of the plan that it applies.
	plans   bool
	applies string
	// end is what the status shows; empty while it does not show the end.
	end job.Outcome
}

func newModel(at uint64) *model {
	m := &model{
		r: rand.New(rand.NewPCG(at, 7)), loud: *seed != 0,
		blobs: map[string]object{}, claims: map[int64]string{}, records: map[int64]Blob{}, leases: map[int64]int64{},
		granted: map[int64]string{}, counts: map[string]uint64{}, history: map[int64]Blob{}, gone: map[string]bool{},
		applied: map[string]*run{},
	}
	safety := []job.Safety{job.Exclusive, job.Exclusive, job.Idempotent, job.ReadOnly}[m.r.IntN(4)]
	m.ws = Workspace{Name: "shop/db", Terms: Terms{Safety: safety, Timing: timing, Keep: 2}}
	for i := range 2 + m.r.IntN(2) {
		m.addRun(fmt.Sprintf("r%d", i))
	}
	return m
}

func (m *model) addRun(name string) {
	m.runs = append(m.runs, &run{Run: Run{UID: name, Name: name}, plans: m.chance(30)})
}

// chance reports true in so many of a hundred cases, and in none of them at the end.
func (m *model) chance(percent int) bool { return m.r.IntN(100) < percent && !m.fair }

func (m *model) log(format string, args ...any) {
	m.steps++
	if m.loud {
		m.trace = append(m.trace, fmt.Sprintf("%4s ", m.now)+fmt.Sprintf(format, args...))
	}
}

// time returns the wall clock, which differs from the others.
func (m *model) time() time.Time { return time.Unix(1e9, 0).Add(m.now) }

// run lets things happen, and then lets all come to an end.
func (m *model) run() error {
	for range 25 + m.r.IntN(40) {
		if err := m.act(); err != nil {
			return err
		}
	}
	m.fair = true
	m.log("from here on nothing fails")
	for range 300 {
		if m.settled() {
			return m.finish()
		}
		if err := m.settle(); err != nil {
			return err
		}
	}
	return fmt.Errorf("stuck: lock %+v, last %+v", m.ws.Lock, m.ws.Last)
}

func (m *model) act() error {
	switch n := m.r.IntN(100); {
	case n < 22:
		return m.deliver()
	case n < 50:
		return m.podActs()
	case n < 72:
		return m.control()
	case n < 80:
		return m.writePending()
	case n < 88:
		m.advance(time.Duration(m.r.IntN(5)) * time.Second)
	case n < 90:
		m.advance(time.Duration(m.r.IntN(40)) * time.Second)
	case n < 93:
		return m.person()
	case n < 94:
		m.log("the controller restarts")
		m.pending, m.watch = nil, job.Watch{}
	case n < 96:
		r := m.runs[m.r.IntN(len(m.runs))]
		m.log("cancel %s", r)
		r.cancelled = true
	case n < 98:
		m.sweep()
	case n < 99 && m.chance(60):
		return m.restore()
	}
	return nil
}

// settle lets a step of a good time happen.
func (m *model) settle() error {
	for len(m.net) > 0 {
		if err := m.deliver(); err != nil {
			return err
		}
	}
	for _, p := range m.pods {
		if err := m.podStep(p); err != nil {
			return err
		}
	}
	if err := m.control(); err != nil {
		return err
	}
	if err := m.writePending(); err != nil {
		return err
	}
	if m.r.IntN(4) == 0 {
		m.sweep()
	}
	m.advance(time.Second)
	if m.ws.Lock.Recovery.Reason != "" || !m.ws.Lock.Held() || m.ws.Phase(m.extent()) == StoreAhead {
		return m.person()
	}
	return nil
}

// settled reports whether every Run shows its end, and nothing is left to do.
func (m *model) settled() bool {
	for _, r := range m.runs {
		if r.end == "" {
			return false
		}
	}
	for _, p := range m.pods {
		if p.alive && !p.done {
			return false
		}
	}
	return !m.ws.Lock.Held() && len(m.net) == 0
}

// finish checks what must be true at the end.
func (m *model) finish() error {
	for _, p := range m.pods {
		if p.running {
			return fmt.Errorf("%s still runs", p.id)
		}
	}
	return nil
}

// A seed gives the same interleaving each time, so that a failure can be looked at.
func TestModelIsRepeatable(t *testing.T) {
	for at := range uint64(20) {
		one, two := newModel(at), newModel(at)
		one.loud, two.loud = true, true
		require.NoError(t, one.run())
		require.NoError(t, two.run())
		require.Equal(t, one.trace, two.trace)
		require.NotEmpty(t, one.trace)
	}
}
