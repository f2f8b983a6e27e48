package budget_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
)

//nolint:gochecknoglobals // any time
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// small are limits that few writes reach.
func small() budget.Limits {
	limit := func(n float64) budget.Limit {
		return budget.Limit{Rate: budget.Cost{Commits: n, Bytes: n * 10}, Burst: budget.Cost{Commits: n * 4, Bytes: n * 100}}
	}
	return budget.Limits{Unit: limit(1), Application: limit(2), Namespace: limit(4), Cluster: limit(8), Share: limit(0.5)}
}

func writer(namespace, application, unit int) budget.Writer {
	return budget.Writer{Namespace: fmt.Sprint("n", namespace), Application: fmt.Sprint("a", application), Unit: fmt.Sprint("u", unit)}
}

// TRUST.md U1: the budget that a write exceeds is named, with the wait after which it fits.
func TestTake(t *testing.T) {
	tests := map[string]struct {
		why    string
		writes func(l *budget.Ledger)
		cost   budget.Cost
		short  budget.Shortage
	}{
		"New":     {why: "who has not written has the whole burst", cost: budget.Cost{Commits: 4, Bytes: 100}},
		"Commits": {why: "the burst is used up", writes: spends(writer(0, 0, 0), 4, 0), cost: budget.Cost{Commits: 1}, short: budget.Shortage{Level: budget.Unit, Wait: time.Second}},
		"Bytes":   {why: "bytes have a rate of their own", writes: spends(writer(0, 0, 0), 1, 100), cost: budget.Cost{Commits: 1, Bytes: 50}, short: budget.Shortage{Level: budget.Unit, Wait: 5 * time.Second}},
		"Debt":    {why: "what was not known before is repaid first", writes: spends(writer(0, 0, 0), 0, 150), cost: budget.Cost{Bytes: 10}, short: budget.Shortage{Level: budget.Unit, Wait: 6 * time.Second}},
		"Over":    {why: "what is more than the burst needs a full one", writes: spends(writer(0, 0, 0), 0, 10), cost: budget.Cost{Bytes: 1000}, short: budget.Shortage{Level: budget.Unit, Wait: time.Second}},
		"Application": {why: "other units of the application have written", writes: spends(writer(0, 0, 1), 8, 0), cost: budget.Cost{Commits: 1},
			short: budget.Shortage{Level: budget.Application, Wait: 500 * time.Millisecond}},
		"Namespace": {why: "other applications of the namespace have written", writes: spends(writer(0, 1, 1), 16, 0), cost: budget.Cost{Commits: 1},
			short: budget.Shortage{Level: budget.Namespace, Wait: 250 * time.Millisecond}},
		"Others":   {why: "another namespace has used up the cluster's budget, and this one has its part", writes: spends(writer(1, 0, 1), 40, 0), cost: budget.Cost{Commits: 2}},
		"Refunded": {why: "what was not used is given back, and no more", writes: spends(writer(0, 0, 0), -10, -10), cost: budget.Cost{Commits: 4, Bytes: 100}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := budget.NewLedger(small(), epoch)
			if test.writes != nil {
				test.writes(l)
			}
			short, taken := l.Take(writer(0, 0, 0), test.cost, epoch)
			assert.Equal(t, test.short, short, test.why)
			assert.Equal(t, test.short.Wait == 0, taken)
			if !taken {
				_, taken = l.Take(writer(0, 0, 0), test.cost, epoch.Add(short.Wait))
				assert.True(t, taken, "it fits after the wait")
			}
		})
	}
}

func spends(w budget.Writer, commits, bytes float64) func(*budget.Ledger) {
	return func(l *budget.Ledger) { l.Spend(w, budget.Cost{Commits: commits, Bytes: bytes}, epoch) }
}

// While the budget of the cluster is used up, each namespace has an equal part of its rate: those that write without
// end divide what is left by those that write less.
func TestShares(t *testing.T) {
	l, now := budget.NewLedger(small(), epoch), epoch
	got := map[string]float64{}
	refused := 0
	one := budget.Cost{Commits: 1}
	for range 600 * 20 {
		now = now.Add(50 * time.Millisecond)
		for n := range 10 {
			for u := range 4 {
				if _, taken := l.Take(writer(n, u/2, u), one, now); taken {
					got[fmt.Sprint("n", n)]++
				}
			}
		}
		if now.Sub(epoch)%(2*time.Second) == 0 { // a commit in two seconds: less than 8/11 of one in a second
			if _, taken := l.Take(writer(99, 0, 0), one, now); !taken {
				refused++
			}
		}
	}
	assert.Zero(t, refused, "a neighbour that writes less than its part is never refused")
	all := 0.0
	for n := range 10 {
		assert.GreaterOrEqual(t, got[fmt.Sprint("n", n)], 600*8/11.0, "namespace %d has its part, if 11 write", n)
		all += got[fmt.Sprint("n", n)]
	}
	assert.LessOrEqual(t, all+300, 32+600*8+11*(2.0+1), "burst, rate, and one commit beyond each part")
}

// The lane of a unit for what is not data is its own, whatever others write.
func TestSignals(t *testing.T) {
	l := budget.NewLedger(budget.Signals(), epoch)
	for u := range 1000 {
		for range budget.SignalBurst / 2 {
			_, taken := l.Take(writer(0, 0, u), budget.Cost{Commits: 1}, epoch)
			require.True(t, taken)
		}
		short, taken := l.Take(writer(0, 0, u), budget.Cost{Commits: 1}, epoch)
		assert.Equal(t, budget.Unit, short.Level)
		assert.False(t, taken)
	}
}

// No sequence of writes takes more from a budget than its burst and its rate allow, no wait is too short, and whoever
// has its whole budget again is forgotten.
func TestLedgerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits, now := small(), epoch
		l := budget.NewLedger(limits, now)
		units, apps, spaces := map[string]budget.Cost{}, map[string]budget.Cost{}, map[string]budget.Cost{}
		add := func(sums map[string]budget.Cost, key string, c budget.Cost, limit budget.Limit) {
			sum := budget.Cost{Commits: sums[key].Commits + c.Commits, Bytes: sums[key].Bytes + c.Bytes}
			sums[key] = sum
			passed := now.Sub(epoch).Seconds()
			require.LessOrEqual(t, sum.Commits, limit.Burst.Commits+limit.Rate.Commits*passed+1e-6)
			require.LessOrEqual(t, sum.Bytes, limit.Burst.Bytes+limit.Rate.Bytes*passed+1e-6)
		}
		for range rapid.IntRange(1, 60).Draw(t, "writes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			w := writer(rapid.IntRange(0, 2).Draw(t, "namespace"), rapid.IntRange(0, 1).Draw(t, "application"), rapid.IntRange(0, 1).Draw(t, "unit"))
			w.Unit += w.Namespace + w.Application
			c := budget.Cost{Commits: float64(rapid.IntRange(0, 4).Draw(t, "commits")), Bytes: float64(rapid.IntRange(0, 100).Draw(t, "bytes"))}
			short, taken := l.Take(w, c, now)
			if !taken {
				require.Positive(t, short.Wait)
				if rapid.Bool().Draw(t, "waits") {
					now = now.Add(short.Wait)
					if short, taken = l.Take(w, c, now); !taken {
						require.Equal(t, budget.Cluster, short.Level, "only the parts of others change a wait")
					}
				}
			}
			if taken {
				add(units, w.Unit, c, limits.Unit)
				add(apps, w.Namespace+w.Application, c, limits.Application)
				add(spaces, w.Namespace, c, limits.Namespace)
			}
		}
		now = now.Add(time.Hour)
		_, _ = l.Take(writer(9, 9, 9), budget.Cost{}, now)
		require.LessOrEqual(t, l.Accounts(), 4, "only the last writer is known")
	})
}

// FuzzLedger has any writes at any times: nothing panics, and a wait is positive exactly where nothing is taken.
func FuzzLedger(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 255, 0, 9})
	f.Fuzz(func(t *testing.T, writes []byte) {
		l, now := budget.NewLedger(small(), epoch), epoch
		for b := range slices.Chunk(writes, 4) {
			if len(b) < 4 {
				return
			}
			now = now.Add(time.Duration(b[0]) * 10 * time.Millisecond)
			w, c := writer(int(b[1]&3), int(b[1]>>2&3), int(b[1]>>4)), budget.Cost{Commits: float64(b[2]), Bytes: float64(b[3]) * 3}
			if b[2] == 255 {
				l.Spend(w, budget.Cost{Bytes: -c.Bytes}, now)
				continue
			}
			short, taken := l.Take(w, c, now)
			if taken != (short.Wait == 0) || short.Wait < 0 {
				t.Fatalf("%v, %v", short, taken)
			}
		}
	})
}

// What an application or its namespace has too much of does not grow, and may shrink.
func TestCheckCaps(t *testing.T) {
	tests := map[string]struct {
		why                    string
		application, namespace budget.Holding
		adds                   budget.Holding
		says                   string
	}{
		"Nothing":     {why: "nothing is held", adds: budget.Holding{Bags: 1, Outboxes: 1, Secrets: 1, Bytes: 1}},
		"Last":        {why: "the cap itself is allowed", application: budget.Holding{Secrets: 255}, adds: budget.Holding{Secrets: 1}},
		"Application": {why: "one more", application: budget.Holding{Secrets: 256}, adds: budget.Holding{Secrets: 1}, says: "there may be 256 secrets of an application, and this would make 257"},
		"Namespace":   {why: "one more", namespace: budget.Holding{Bags: 16384}, adds: budget.Holding{Bags: 1}, says: "there may be 16384 databags of a namespace, and this would make 16385"},
		"Shrinks":     {why: "what is over a new cap may shrink", application: budget.Holding{Bags: 9999, Bytes: 99 << 20}, adds: budget.Holding{Bytes: -1}},
		"Changes":     {why: "and what adds nothing is allowed", application: budget.Holding{Bags: 9999, Outboxes: 9999, Secrets: 9999, Bytes: 99 << 20}},
		"Grows":       {why: "but not grow", application: budget.Holding{Bytes: 33 << 20}, adds: budget.Holding{Bytes: 1}, says: "there may be 33554432 bytes in the databags of an application, and this would make 34603009"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.says, budget.CheckCaps(test.application, test.namespace, test.adds), test.why)
		})
	}
	assert.Equal(t, budget.Holding{Bags: 1}, budget.Holding{Bags: 3, Secrets: 1}.Minus(budget.Holding{Bags: 2, Secrets: 2}).Plus(budget.Holding{Secrets: 1}))
}

// A transaction that one replica accepts from a unit that has not written lately is within each of its budgets.
func TestDataLimits(t *testing.T) {
	l := budget.NewLedger(budget.Data(), epoch)
	_, taken := l.Take(writer(0, 0, 0), budget.Cost{Commits: 1, Bytes: budget.MaxTransaction}, epoch)
	assert.True(t, taken)
}

// 16 units of a namespace whose handlers read 200 secrets at once wait for no budget of one replica, and neither does one
// that reads each from a Secret as large as one may be.
func TestReadLimits(t *testing.T) {
	l := budget.NewLedger(budget.Reads(), epoch)
	for unit := range 16 {
		for range 200 {
			_, taken := l.Take(writer(0, 0, unit), budget.Cost{Commits: 1}, epoch)
			require.True(t, taken)
			if unit == 0 {
				l.Spend(writer(0, 0, unit), budget.Cost{Bytes: 1 << 20}, epoch)
			}
		}
	}
	calls := budget.NewLedger(budget.Calls(), epoch)
	for unit := range 5000 {
		_, taken := calls.Take(writer(0, 0, unit), budget.Cost{Commits: 1}, epoch)
		require.True(t, taken, "all units of a large namespace connect at once")
	}
}
