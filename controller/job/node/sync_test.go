package node_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// first names the first attempt of Run r.
func first() executor.Name { return executor.Name{Namespace: "ns", Run: "r", UID: "u", Number: 1} }

// offer stores an offer of the first attempt to an agent.
func (w *world) offer(to *caller) {
	w.inputs[first()] = run.Input{Artifact: run.Artifact{Image: "image"}, Entrypoint: []string{"program"}, Env: map[string]string{"A": "b"}, Action: "deploy"}
	require.NoError(w.t, w.Offers.Make(w.t.Context(), node.OfferedAttempt{
		Attempt: executor.Attempt{Name: first(), Workspace: "web", Fence: 3, Timing: job.Timing{Lost: time.Minute, Grace: time.Second}},
		Offer:   domain.Offer{Node: "lab", Key: to.digest(), Since: w.now()},
	}))
}

// report returns a report about the first attempt.
func report(p wire.Phase, obstacle string) *wire.Report {
	return &wire.Report{Uid: "u", Number: 1, Phase: p, Obstacle: obstacle}
}

// An offer reaches its node alone, with its program until the node has it; what the node reports is stored, and the offer
// goes when the node has nothing left of it.
func TestOffers(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	w.offer(c)
	answer, err := c.sync("")
	require.NoError(t, err)
	require.Len(t, answer.GetAttempts(), 1)
	got := answer.GetAttempts()[0]
	assert.Equal(t, "web r ns u", got.GetWorkspace()+" "+got.GetRun()+" "+got.GetNamespace()+" "+got.GetUid())
	assert.Equal(t, "image", got.GetProgram().GetImage())
	assert.Equal(t, "b", got.GetProgram().GetEnv()["A"])
	assert.InDelta(t, 60, got.GetProgram().GetLostSeconds(), 0)

	answer, err = c.sync(answer.GetRevision(), report(wire.Phase_PHASE_UNSPECIFIED, "it pulls"))
	require.NoError(t, err)
	assert.Nil(t, answer.GetAttempts()[0].GetProgram(), "it has it")
	o, there, err := w.Offers.Get(t.Context(), first())
	require.NoError(t, err)
	assert.True(t, there && o.Accepted && o.Obstacle == "it pulls" && !o.Stopped && !o.Over)
	for phase, want := range map[wire.Phase][2]bool{wire.Phase_PHASE_STOPPED: {true, false}, wire.Phase_PHASE_OVER: {false, true}} {
		_, err = c.sync("", report(phase, ""))
		require.NoError(t, err)
		o, _, _ = w.Offers.Get(t.Context(), first())
		assert.Equal(t, want, [2]bool{o.Stopped, o.Over})
	}
	_, err = c.sync("", report(wire.Phase_PHASE_GONE, ""))
	require.NoError(t, err)
	o, there, _ = w.Offers.Get(t.Context(), first())
	assert.True(t, there && o.Over, "nothing was withdrawn")

	o.Withdrawn = true
	require.NoError(t, w.Offers.Change(t.Context(), o))
	answer, err = c.sync("")
	require.NoError(t, err)
	assert.Equal(t, wire.Order_ORDER_REMOVE, answer.GetAttempts()[0].GetOrder())
	answer, err = c.sync("", report(wire.Phase_PHASE_GONE, ""))
	require.NoError(t, err)
	assert.Empty(t, answer.GetAttempts())
	assert.Empty(t, w.offers)
}

// A call of an agent whose news or offers a store cannot read or write fails, so that the agent calls again; nothing is lost.
func TestStoreFails(t *testing.T) {
	for _, what := range []string{
		"show a node", "read an offer", "change an offer", "list the offers of a node", "read an input", "delete an offer",
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			c := w.adopted()
			w.offer(c)
			w.change(func(n *domain.Node) { n.Seen = time.Time{} })
			if what == "delete an offer" {
				o := w.offers[named(first())]
				o.Withdrawn = true
				w.offers[named(first())] = o
			}
			call := func() error {
				reports := []*wire.Report{report(wire.Phase_PHASE_GONE, "")}
				if what == "read an input" {
					reports = nil
				}
				_, err := c.sync("", reports...)
				return err
			}
			w.failing = what
			require.ErrorContains(t, call(), "unavailable: the controller cannot answer now: call again")
			w.failing = ""
			require.NoError(t, call())
			assert.Equal(t, what == "delete an offer", len(w.offers) == 0)
		})
	}
}

// A node that has called a moment ago is shown anew only with other news.
func TestShown(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	seen := func() time.Time {
		_, err := c.sync("")
		require.NoError(t, err)
		w.mutex.Lock()
		defer w.mutex.Unlock()
		return w.nodes["lab"].Seen
	}
	first := seen()
	assert.Equal(t, first, seen())
	w.change(func(n *domain.Node) { n.Contract = "another" })
	second := seen()
	assert.NotEqual(t, first, second, "it has another contract")
	w.pass(domain.Heartbeat)
	assert.NotEqual(t, second, seen(), "it is a while ago")
}

// Nothing is offered to a node that is not adopted, and another agent neither sees nor changes an offer.
func TestOffersOfOthers(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	w.offer(c)
	w.change(func(n *domain.Node) { n.Adopted = "" })
	answer, err := c.sync("")
	require.NoError(t, err)
	assert.Empty(t, answer.GetAttempts())
	w.offers[named(first())] = node.OfferedAttempt{Attempt: executor.Attempt{Name: first()}, Offer: domain.Offer{Node: "lab", Key: "another"}}
	answer, err = c.sync("", report(wire.Phase_PHASE_OVER, "x"))
	require.NoError(t, err)
	assert.Empty(t, answer.GetAttempts())
	assert.False(t, w.offers[named(first())].Accepted)
}

// A call waits for something new, and is ended at once when its node is revoked.
func TestWaits(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	answer, err := c.sync("")
	require.NoError(t, err)
	type got struct {
		answer *wire.SyncResponse
		err    error
	}
	answers := make(chan got, 1)
	wait := func(revision string) {
		go func() {
			a, err := c.sync(revision)
			answers <- got{a, err}
		}()
	}
	wait(answer.GetRevision())
	w.offer(c)
	first := <-answers
	require.NoError(t, first.err)
	assert.Len(t, first.answer.GetAttempts(), 1)
	wait(first.answer.GetRevision())
	w.change(func(n *domain.Node) { n.Order = domain.Revoke })
	w.denied((<-answers).err, "the node is revoked")
}

// A node calls the jobs API for runs that were offered to it, and for no other; revocation counts for each call.
func TestCallers(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	w.offer(c)
	call := func(by *caller, run string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/runs/"+run, http.NoBody)
		require.NoError(t, err)
		answer, err := by.http().Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	code, text := call(c, "u")
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "w r lab lab", text)
	code, text = call(c, "other")
	assert.Equal(t, http.StatusForbidden, code)
	assert.Equal(t, "the key of the RunNode is not good for this: Run other was not offered to RunNode lab with this key\n", text)
	code, _ = call(w.caller(), "u")
	assert.Equal(t, http.StatusForbidden, code, "a stranger")
	delete(w.inputs, first())
	code, text = call(c, "u")
	assert.Equal(t, http.StatusForbidden, code, text)
	w.offer(c)
	w.change(func(n *domain.Node) { n.Order = domain.Revoke })
	code, text = call(c, "u")
	assert.Equal(t, http.StatusForbidden, code)
	assert.Contains(t, text, "the key of the RunNode is not good for this: Run u: RunNode lab may not call: the node is revoked")
}

// JOBS.md J15: what an agent has found of the contract is stored as soon as it is known, and decides about offers; an agent
// that does not know it any more, as one of another version, is given nothing.
func TestProof(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	e, _ := newExecutor(w)
	a := to(domain.Selection{Name: "lab"})
	reports := func(p *wire.Proof) domain.Node {
		c.proof = p
		_, err := c.sync("")
		require.NoError(t, err)
		n, err := w.Get(t.Context(), "lab")
		require.NoError(t, err)
		return n
	}
	assert.Nil(t, reports(nil).Proof)
	require.ErrorContains(t, e.Start(t.Context(), a), "its agent has not tested yet whether its machine carries out runs as the contract promises")
	n := reports(proof(t, conformance.Golden().Add("new", nil)))
	assert.Equal(t, "runner and engine", n.Proof.Subject)
	require.ErrorContains(t, e.Start(t.Context(), a), "new: the golden report does not have it: mend its engine")
	assert.Empty(t, w.offers)
	w.change(func(n *domain.Node) { n.Accepted = []string{"new"} })
	require.NoError(t, e.Start(t.Context(), a))
	assert.Len(t, w.offers, 1)
	w.inputs[first()] = run.Input{Artifact: run.Artifact{Image: "image"}}
	c.proof = nil
	answer, err := c.sync("")
	require.NoError(t, err)
	assert.Empty(t, answer.GetAttempts(), "an agent of another version has not tested itself yet")
	c.proof = proof(t, conformance.Golden())
	answer, err = c.sync("")
	require.NoError(t, err)
	assert.Len(t, answer.GetAttempts(), 1)
	assert.Equal(t, "report", reports(&wire.Proof{Subject: "x", Report: []byte("{")}).Proof.Differences[0].Check)
	assert.Empty(t, reports(proof(t, conformance.Golden())).Proof.Differences)
}
