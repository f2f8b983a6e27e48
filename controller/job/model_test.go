package job

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// worlds is the number of random worlds: go test ./controller/job -run Model -worlds 1000.
//
//nolint:gochecknoglobals // a flag
var worlds = flag.Int("worlds", 12, "how many random worlds the model has")

// model is a world in which persons, pods and deaths come in any order.
type model struct {
	*world

	r     *rand.Rand
	at    *Reconciler
	names []string
	steps []string
	// fences are those that were seen, committed how often each generation was.
	fences []int64
	ends   map[string]v1alpha1.JobRunEnd
}

// JOBS.md J1, J2, J3, J4 and J8: whatever persons and pods do, and whenever the controller dies, fences rise, each
// generation follows the one before, an end never changes, every Run ends, and nothing is left of it.
func TestModel(t *testing.T) {
	for seed := range *worlds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t)
			w.claimWait = time.Duration(seed%2) * DefaultClaimWait
			m := &model{world: w, r: rand.New(rand.NewPCG(1, uint64(seed))), at: w.process(), ends: map[string]v1alpha1.JobRunEnd{}}
			if m.r.IntN(2) == 0 {
				w.idempotent()
			}
			defer func() {
				if t.Failed() {
					t.Log(m.steps)
				}
			}()
			for range 60 {
				m.step()
				m.check()
			}
			m.settle()
		})
	}
}

// step lets something happen, and the controller react, which may die of it.
func (m *model) step() {
	m.t.Helper()
	steps := map[string]func(){
		"run": func() {
			if len(m.names) < 8 {
				m.names = append(m.names, fmt.Sprint("r", len(m.names)))
				m.run(m.names[len(m.names)-1])
			}
		},
		"cancel": func() {
			if len(m.names) > 0 {
				m.cancel(m.names[m.r.IntN(len(m.names))])
			}
		},
		"claim": func() {
			m.withPod(func(p *pod) bool { return !p.Over && m.workspace().State.Lock.Claimant == nil }, m.claim)
		},
		"finish": func() { m.withPod(m.claimed, func() { m.finish(m.r.IntN(2), fmt.Sprint("sha256:", m.r.IntN(5))) }) },
		"over":   func() { m.withPod(func(*pod) bool { return true }, func() { m.current().Over = true }) },
		"renew": func() {
			m.withPod(m.claimed, func() {
				l := m.workspace().State.Lock
				m.signs[l.Run.UID] = Sign{Fence: l.Fence, Number: m.signs[l.Run.UID].Number + 1}
			})
		},
		"wait": func() {
			m.let([]time.Duration{time.Second, 10 * time.Second, time.Minute, 4 * time.Minute}[m.r.IntN(4)])
		},
		"decide": m.decide,
		"die":    func() { m.writes = m.r.IntN(6) },
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range steps {
			if !yield(name) {
				return
			}
		}
	})
	name := names[m.r.IntN(len(names))]
	m.steps = append(m.steps, name)
	steps[name]()
	m.react()
}

// let lets time pass.
func (m *model) let(d time.Duration) { m.now, m.clock = m.now.Add(d), m.clock+d }

// react has the controller reconcile; one that dies is followed by another.
func (m *model) react() {
	m.t.Helper()
	if err := m.live(m.at); err != nil {
		require.ErrorIs(m.t, err, errDead)
		m.writes, m.at = -1, m.process()
		m.steps = append(m.steps, "dead")
	}
}

// withPod does something if the attempt of the lock has a pod of a kind.
func (m *model) withPod(is func(*pod) bool, do func()) {
	m.t.Helper()
	o := m.workspace()
	if o.State == nil || o.State.Lock == nil {
		return
	}
	for name, p := range m.pods {
		if name.UID == o.State.Lock.Run.UID && name.Number == int(o.State.Lock.Attempt) && is(p) {
			do()
			return
		}
	}
}

// claimed reports whether a pod may run its process.
func (m *model) claimed(p *pod) bool { return !p.Over && m.workspace().State.Lock.Claimant != nil }

// decide has a person decide about a hold that is lost.
func (m *model) decide() {
	o := m.workspace()
	if o.State == nil || o.State.Lock == nil || o.State.Lock.Recovery == nil {
		return
	}
	v := workspace.Verdict{Remedy: workspace.AcceptGeneration, Fence: o.State.Lock.Fence, By: "ann", Now: m.now}
	if m.r.IntN(2) == 0 {
		v.Remedy = workspace.Retry
	}
	m.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
		v.Seen = now.State.Number
		return now.Decide(v)
	})
}

// check checks what must always hold.
func (m *model) check() {
	m.t.Helper()
	o := m.workspace()
	if o.State != nil {
		m.fences = append(m.fences, o.State.Fence)
		require.True(m.t, slices.IsSorted(m.fences), "JOBS.md J2")
		if g := o.State.Generation; g != nil && g.Number > 0 {
			require.Equal(m.t, g.Number-1, g.Base, "JOBS.md J3")
		}
	}
	beyond := 0
	for _, name := range m.names {
		one := m.get(name)
		if one.State != nil && one.State.End != nil {
			if before, known := m.ends[name]; known {
				require.Equal(m.t, before, *one.State.End, "JOBS.md J4")
			}
			m.ends[name] = *one.State.End
		} else if one.Status.Phase != "" && one.Status.Phase != "Queued" {
			beyond++
		}
	}
	require.LessOrEqual(m.t, beyond, 1, "JOBS.md J1")
}

// settle has everything come to its end, as fair pods and a person would.
func (m *model) settle() {
	m.t.Helper()
	m.writes = -1
	for range 200 {
		m.let(time.Minute)
		m.react()
		m.withPod(func(p *pod) bool { return !p.Over && m.workspace().State.Lock.Claimant == nil }, m.claim)
		m.withPod(m.claimed, func() { m.finish(0, "") })
		m.decide()
		m.check()
		o := m.workspace()
		if (o.State == nil || o.State.Lock == nil) && len(m.ends) == len(m.names) && len(m.pods) == 0 {
			break
		}
	}
	m.react()
	assert.Len(m.t, m.ends, len(m.names), "JOBS.md J4")
	assert.Empty(m.t, m.pods)
	for _, name := range m.names {
		assert.Empty(m.t, m.get(name).Finalizers, name)
	}
	made := m.made
	m.let(time.Hour)
	m.react()
	assert.Equal(m.t, made, m.made, "a settled Workspace writes nothing")
}
