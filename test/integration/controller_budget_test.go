package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
)

// writers returns agents of units that are in a relation with a provider, and the relation's identity.
func (w *controllerWorld) writers(c *controllerReplica, name string, units int) (all []*speaker, relation string) {
	w.t.Helper()
	writer := w.consumer(name, consumes("store:pg", name+"-db"))
	writer.Spec.Replicas = new(int32(units))
	w.create(w.consumer(name+"-db", map[string]string{application.KeyProvides: "main:pg"}), writer)
	pods := w.podsOf(name, units)
	for n := range pods {
		s := w.speakerOf(c, &pods[n], fmt.Sprintf("10.9.1.%d", n+1))
		known := hears(w.t, s.stream, "its relation and its unit", func(s *wire.Snapshot) bool {
			return len(s.GetRelations()) == 1 && len(s.GetOwn()) == 1
		})
		all, relation = append(all, s), known.GetRelations()[0].GetUid()
	}
	return all, relation
}

// full returns the values of a bag that is nearly as large as a bag may be.
func full(of string) map[string]string {
	set := map[string]string{}
	for k := range 8 {
		set[fmt.Sprint("k", k)] = strings.Repeat(of, 60<<10)
	}
	return set
}

// floods has units change a byte of a bag as large as it may be, as fast as they are answered and whatever the answer
// is, until ctx is done: the API server stores the whole bag each time. It returns how many were stored.
func (w *controllerWorld) floods(ctx context.Context, units []*speaker, relation string) *atomic.Int64 {
	stored, all := &atomic.Int64{}, sync.WaitGroup{}
	for _, s := range units {
		all.Go(func() {
			for set, n := full("x"), 0; ctx.Err() == nil; n++ {
				_, err := s.api.Commit(ctx, asking(s, &wire.CommitRequest{Changes: []*wire.Change{{Relation: relation, Set: set}}}))
				if err == nil {
					stored.Add(1)
					set = map[string]string{"n": fmt.Sprint(n)}
				}
			}
		})
	}
	w.t.Cleanup(all.Wait)
	return stored
}

// How long units write as much as they can, and how many. The long form of the test, of a minute and more, measures
// what the short one, on a machine with other work, cannot: -flood 10m -flood-pods 50 -timeout 30m.
//
//nolint:gochecknoglobals // flags of the test binary
var (
	floodFor  = flag.Duration("flood", 10*time.Second, "how long units write as much as they can")
	floodPods = flag.Int("flood-pods", 1, "how many units do")
)

// TRUST.md U1: units that write as much as they can, as fast as they can, stay within their budget, and the API reports
// for how long to wait; a neighbour in another namespace is served meanwhile, and so is a unit's leadership. People
// see it on the application.
func TestControllerBoundsWrites(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	units, relation := w.writers(c, "web", *floodPods)
	other := w.another()
	quiet, small := other.writers(c, "calm", 1)
	before, began := c.written.Load(), time.Now()
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	stored := w.floods(ctx, slices.Repeat(units, 3), relation)
	waits := other.converses(quiet[0], small)

	lead, err := units[0].api.Lead(w.ctx, asking(units[0], &wire.LeadRequest{}))
	require.NoError(t, err, "leadership has a lane of its own")
	assert.True(t, lead.Msg.GetLeads())
	w.eventually("a commit is put off, with the wait", func() bool {
		refused := &connect.Error{}
		return errors.As(units[0].commit(w.ctx, 0, change(relation, false, "n", "more")), &refused) &&
			refused.Code() == connect.CodeResourceExhausted && refused.Meta().Get("Orcon-Wait") != ""
	})
	w.eventually("condition WritesLimited of the application", func() bool {
		return strings.Contains(message(w.app("web").Status.Conditions, "WritesLimited"), "has used up the budget of its")
	})
	stop()
	passed, bytes := time.Since(began), c.written.Load()-before
	last := waits[len(waits)*99/100]
	t.Logf("%s: %d commits of a flood stored, %.1f MiB written; %d commits of a neighbour: median %s, p99 %s", passed.Round(time.Second),
		stored.Load(), float64(bytes)/(1<<20), len(waits), waits[len(waits)/2].Round(time.Millisecond), last.Round(time.Millisecond))
	if *floodFor >= time.Minute {
		assert.Less(t, last, time.Second, "a neighbour's commit")
		assert.Less(t, bytes, int64(512<<20))
		return
	}
	unit := budget.Data().Unit
	assert.Less(t, float64(bytes), unit.Burst.Bytes+passed.Seconds()*unit.Rate.Bytes+2<<20, "and what the neighbour and the loop write")
}

// converses has a unit commit less than its budget allows, and returns how long each commit took, in order.
func (w *controllerWorld) converses(s *speaker, relation string) (took []time.Duration) {
	w.t.Helper()
	every := 250 * time.Millisecond // which its burst allows for a while
	if *floodFor >= time.Minute {
		every = 1200 * time.Millisecond
	}
	pace := time.NewTicker(every)
	defer pace.Stop()
	for began := time.Now(); time.Since(began) < *floodFor; <-pace.C {
		asked := time.Now()
		require.NoError(w.t, s.commit(w.ctx, 0, change(relation, false, "n", fmt.Sprint(len(took)))))
		took = append(took, time.Since(asked))
	}
	slices.Sort(took)
	return took
}

// reader returns an agent of a unit that has a secret.
func (w *controllerWorld) reader(c *controllerReplica) *speaker {
	w.t.Helper()
	units, _ := w.writers(c, "web", 1)
	require.NoError(w.t, w.secrets(units[0], w.leads(units[0]), nil, adding(dbPassword)))
	return units[0]
}

// TRUST.md U3: a pod that reads its secret in an endless loop, with as many requests at once as it may have, is answered
// as often as its budget allows, and the API server reviews its token as often. A neighbour reads meanwhile. The long form
// of the test shows it where a machine is slow.
func TestControllerBoundsReads(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	other := w.another()
	greedy, calm := w.reader(c), other.reader(c)
	ctx, stop := context.WithTimeout(w.ctx, *floodFor)
	defer stop()
	requested, reviewed, began := c.requested.Load(), c.reviewed.Load(), time.Now()
	var all sync.WaitGroup
	var answered atomic.Int64
	for range 14 { // of 16: its stream is one
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := greedy.api.GetSecret(ctx, asking(greedy, &wire.GetSecretRequest{Id: ordersSecret})); err == nil {
					answered.Add(1)
				}
			}
		})
	}
	var took []time.Duration
	for ctx.Err() == nil {
		asked := time.Now()
		password, err := other.get(calm, &wire.GetSecretRequest{Id: ordersSecret})
		require.NoError(t, err)
		require.Equal(t, dbPassword, password)
		took = append(took, time.Since(asked))
		<-time.After(100 * time.Millisecond)
	}
	all.Wait()
	passed := time.Since(began)
	slices.Sort(took)
	t.Logf("%s: %d answers to an endless loop; %d requests at the API server, %d of them reviews; %d reads of a neighbour: median %s, p99 %s",
		passed.Round(time.Second), answered.Load(), c.requested.Load()-requested, c.reviewed.Load()-reviewed,
		len(took), took[len(took)/2].Round(time.Millisecond), took[len(took)*99/100].Round(time.Millisecond))
	unit := budget.Reads().Unit
	may := unit.Burst.Commits + unit.Rate.Commits*(passed.Seconds()+2)
	assert.LessOrEqual(t, float64(answered.Load()), may)
	assert.LessOrEqual(t, float64(c.reviewed.Load()-reviewed), may+float64(len(took))+10, "reviews")
}

// TRUST.md U1: a bag that is within its limit of bytes and that the API server would refuse, since it writes
// each of them as six, is refused before anything is written, with both numbers.
func TestControllerBoundsWhatIsEncoded(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	units, relation := w.writers(c, "web", 1)
	_, err := units[0].api.Commit(w.ctx, asking(units[0], &wire.CommitRequest{Changes: []*wire.Change{{Relation: relation, Set: full("<")}}}))
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
	assert.Contains(t, err.Error(), "491536")
	assert.Contains(t, err.Error(), "917504")
}
