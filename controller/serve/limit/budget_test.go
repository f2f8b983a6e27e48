package limit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// most is how many commits a unit may make at once in one replica.
func most() int { return int(budget.Data().Unit.Burst.Commits) }

// A request that writes nothing gets its commit back; what it has announced and not written, too.
func TestRequestsPayForWhatTheyWrite(t *testing.T) {
	tests := map[string]struct {
		why                string
		announced, written int
		fits               bool
	}{
		"Nothing":    {"it has written nothing", 0, 0, true},
		"Unused":     {"it has announced what it did not write", budget.UnitByteBurst / 4, 0, true},
		"Little":     {"each has taken a commit", 0, 1, false},
		"Announced":  {"what it announces is taken once", 1, 1, false},
		"Unforeseen": {"it has written what it did not announce", 0, budget.UnitByteBurst, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := newTill(t)
			l.announced, l.written = tc.announced, tc.written
			stored, err := l.commit(t, most()+1)
			assert.Equal(t, tc.fits, err == nil, "%s: %d stored: %v", tc.why, stored, err)
			assert.Equal(t, stored, l.carried, "a request that is refused is not carried out")
			if !tc.fits {
				assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
			}
		})
	}
}

// TRUST.md U1: acknowledgements have no budget of writes, and leadership has one of its own.
func TestLanes(t *testing.T) {
	l := newTill(t)
	l.written = 1
	_, err := l.commit(t, most()+1)
	require.Error(t, err)
	for range 2 * most() {
		_, err = l.api.Leave(t.Context(), connect.NewRequest(&v1alpha1.LeaveRequest{}))
		require.NoError(t, err, "each is written once for what has happened")
	}
	signals := int(budget.Signals().Unit.Burst.Commits)
	for range signals {
		_, err = l.api.Lead(t.Context(), connect.NewRequest(&v1alpha1.LeadRequest{}))
		require.NoError(t, err)
	}
	_, err = l.api.Lead(t.Context(), connect.NewRequest(&v1alpha1.LeadRequest{}))
	assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
}

// What a stream writes is at the cost of its pod's signals.
func TestSignal(t *testing.T) {
	l := newTill(t)
	for range int(budget.Signals().Unit.Burst.Commits) {
		require.NoError(t, l.budgets.Signal(t.Context(), members{}, blog1()))
	}
	err := l.budgets.Signal(t.Context(), members{}, blog1())
	assert.Equal(t, domain.NotYet, domain.RefusalOf(err), "%v", err)
	assert.Positive(t, domain.DelayOf(err))
	other := identity.Identity{Namespace: "library", Pod: "novel-1", UID: "uid-novel-1"}
	require.NoError(t, l.budgets.Signal(t.Context(), members{}, other), "a neighbour")
}

// A shortage is stored once in a minute for each unit. A failure to store it changes nothing for the unit.
func TestShortagesAreReported(t *testing.T) {
	l := newTill(t)
	l.away, l.written = true, budget.UnitByteBurst
	for range 3 {
		_, err := l.commit(t, most()+1)
		require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
	}
	assert.Equal(t, []budget.Level{budget.Unit}, l.reported)
	l.now = l.now.Add(reportLimit)
	_, err := l.commit(t, most()+1)
	require.Error(t, err)
	assert.Equal(t, []budget.Level{budget.Unit, budget.Unit}, l.reported, "after a minute")
	l.now = l.now.Add(time.Hour)
	stored, _ := l.commit(t, 1)
	assert.Equal(t, 1, stored, "its wait is over")
}

// A refusal names who has used up the budget.
func TestRefusalsNameTheHolder(t *testing.T) {
	for level, holder := range map[budget.Level]string{
		budget.Unit: "pod blog-1", budget.Application: "application blog", budget.Namespace: "namespace shop",
		budget.Cluster: "the cluster's part of namespace shop",
	} {
		b := NewBudgets(&shop{}, &shop{}, time.Now)
		p := b.purse(Prove(t.Context(), blog1()), members{}, b.data)
		err := p.refusal(budget.Shortage{Level: level, Wait: 1500 * time.Millisecond})
		assert.Equal(t, 1500*time.Millisecond, domain.DelayOf(err))
		assert.Contains(t, err.Error(), holder+" has used up its budget of writes")
	}
}

// Only requests that are bounded pay: what the controller writes by itself is free.
func TestAffordOutsideARequest(t *testing.T) {
	b := NewBudgets(&shop{}, &shop{}, time.Now)
	require.NoError(t, b.Afford(t.Context(), 100*budget.MaxTransaction, budget.Holding{Bags: 1e6}))
}

// What may not be written at all is refused for good, and takes nothing.
func TestAffordRefusesForGood(t *testing.T) {
	tests := map[string]struct {
		why   string
		bytes int
		adds  budget.Holding
		kind  domain.Refusal
	}{
		"Largest":     {"as much as one transaction may write", budget.MaxTransaction, budget.Holding{}, ""},
		"Too large":   {"more than one transaction may write", budget.MaxTransaction + 1, budget.Holding{}, domain.Invalid},
		"Application": {"more than an application may hold", 1, budget.Holding{Bags: 2}, domain.Invalid},
		"Less":        {"it holds less afterwards", 1, budget.Holding{Bags: -1}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			held := &shop{application: budget.Holding{Bags: budget.ApplicationBags - 1}}
			now := time.Unix(1e9, 0)
			b := NewBudgets(held, held, func() time.Time { return now })
			p := b.purse(Prove(t.Context(), blog1()), members{}, b.data)
			err := b.Afford(context.WithValue(t.Context(), purseKey{}, p), tc.bytes, tc.adds)
			assert.Equal(t, tc.kind, domain.RefusalOf(err), "%s: %v", tc.why, err)
			assert.Zero(t, domain.DelayOf(err), "no wait ends it")
			assert.Equal(t, tc.kind == "", p.paid == tc.bytes, tc.why)
			assert.Empty(t, held.reported)
		})
	}
}

// A server without budgets bounds only the time of a request.
func TestNoBudgets(t *testing.T) {
	var none *Budgets
	require.NoError(t, none.Pace(t.Context(), blog1(), relationsv1alpha1connect.RelationsServiceGetProcedure))
	none.Charge(blog1(), relationsv1alpha1connect.RelationsServiceGetProcedure, 1<<40)
	passes := false
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passes = true })
	request := httptest.NewRequest(http.MethodPost, relationsv1alpha1connect.RelationsServiceCommitProcedure, strings.NewReader(""))
	none.Holding(members{}, next).ServeHTTP(httptest.NewRecorder(), request)
	assert.True(t, passes)
	var within time.Duration
	_, err := none.Bounded(members{})(func(ctx context.Context, _ connect.AnyRequest) (connect.AnyResponse, error) {
		end, _ := ctx.Deadline()
		within = time.Until(end)
		return nil, nil
	})(t.Context(), connect.NewRequest(&v1alpha1.GetRequest{}))
	require.NoError(t, err)
	assert.InDelta(t, AnswerWithin.Seconds(), within.Seconds(), 1)
}
