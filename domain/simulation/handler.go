package simulation

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// handle runs the handler of a turn, and ends the turn unless the handler hangs.
func (w *world) handle(a *agent, t *tool.Turn) {
	code, said := 0, ""
	if script, ok := w.handlers[a.application+"/"+tool.Hook(t.Event)]; ok {
		env := tool.Environment(t.Snapshot.Unit, t.Event)
		env["JUJU_MODEL_NAME"] = namespace
		env["ORCON_ATTEMPT"] = strconv.Itoa(t.Attempt)
		code, said = w.runScript(script, &caller{world: w, agent: a, turn: t, env: env})
	}
	if a.fails > 0 {
		a.fails--
		code = 1
	}
	if said = strings.TrimSpace(said); said != "" {
		w.tell(w.now, "%s says: %s", unitName(a), strings.ReplaceAll(said, "\n", " / "))
	}
	if a.stalls {
		a.stalls = false
		w.tell(w.now, "%s hangs in: %s", unitName(a), eventText(t.Event))
		return
	}
	w.done(a, code)
}

// done ends a turn: what its handler said is stored, and then the event is
// remembered; or all of it is dropped and the event told again later (RELATIONS.md
// E11).
func (w *world) done(a *agent, code int) {
	t := a.turn
	if code != 0 {
		w.hear(a, eventText(t.Event)+", failed")
		w.retry(a, t, fmt.Sprintf("exit code %d", code))
		return
	}
	if err := w.say(a, t.Transaction, tool.Hook(t.Event)); err != nil {
		w.hear(a, eventText(t.Event)+", failed")
		w.tell(w.now, "%s: %v", unitName(a), err)
		w.retry(a, t, err.Error())
		return
	}
	w.hear(a, eventText(t.Event))
	if a.dies {
		a.dies = false
		if err := w.restart(a); err != nil {
			w.tell(w.now, "%v", err)
		}
		return
	}
	a.told, a.turn, a.failed = a.told.After(t.Event, t.Snapshot), nil, failure{}
	w.tellFailure(a, status.Failure{})
	if err := a.save(); err != nil {
		w.tell(w.now, "%v", err)
	}
}

func (w *world) retry(a *agent, t *tool.Turn, why string) {
	a.turn = nil
	a.failed = failure{t.Attempt, t.String(), w.now.Add(retry.After(t.Attempt))}
	w.tellFailure(a, status.Failure{Event: t.String(), Relation: t.Event.Relation, Attempts: t.Attempt, Said: why})
}

// say stores a transaction; one that changes nothing is not even sent.
func (w *world) say(a *agent, t *conversation.Transaction, cause string) error {
	changes := t.Commit()
	if len(changes) == 0 {
		return nil
	}
	u, known := w.unitOf(a)
	if !known || !w.reaches(a) {
		return refused(conversation.NotYet, "cannot reach the controller", "try again")
	}
	c := transaction.Commit{
		Namespace: namespace, Application: a.application, Unit: u.Number, PodUID: a.podUID,
		Term: cmp.Or(int(t.Term()), a.lease.term), Cause: cause,
	}
	for _, change := range changes {
		r, there := w.byUID(change.Relation)
		if !there {
			return refused(conversation.Gone, "cannot write: the relation has gone", "write into another relation")
		}
		c.Changes = append(c.Changes, toChange(r, a, change, t.OfHandler()))
	}
	before := w.revision
	if err := w.commit(c, w.diesCommitted); err != nil {
		if _, pending := w.outboxes[c.Outbox()]; pending && w.diesCommitted {
			w.diesCommitted, w.stopped = false, true
			w.tell(w.now, "controller dies after the commit of %s", unitName(a))
		}
		return err
	}
	if w.revision == before {
		return nil // it was so already
	}
	a.unseen = append(a.unseen, unseen{changes, w.revision})
	for _, change := range changes {
		w.tell(w.now, "%s writes %s of %s in relation %s: %s", unitName(a), cause, change.Owner, strconv.Itoa(w.idOf(change.Relation)),
			strings.Join(changedKeys(sortedKeys(change.Added), sortedKeys(change.Changed), sortedKeys(change.Removed)), " "))
	}
	return nil
}

func (w *world) idOf(uid string) int {
	r, _ := w.byUID(uid)
	return r.State.ID
}

// toChange writes a change as the store takes it. With acted it has what the author has acted on.
func toChange(r relation.Relation, a *agent, c conversation.Change, acted bool) transaction.Change {
	endpoint := r.Requirer.Endpoint
	if r.Requirer.Application != a.application {
		endpoint = r.Provider.Endpoint
	}
	_, own := c.Unit()
	change := transaction.Change{Relation: r.Name, UID: r.UID, Endpoint: endpoint, Own: own, Set: c.Set()}
	if acted {
		change.Seen = c.Seen()
	}
	return change
}

// runTool carries out a call of a tool: of a handler in the transaction of its
// event, else as one transaction of its own.
func (c *caller) runTool(call tool.Call) tool.Result {
	call.Env = map[string]string{}
	for _, name := range tool.Variables() {
		if value := c.env[name]; value != "" {
			call.Env[name] = value
		}
	}
	t := &toolContext{world: c.world, agent: c.agent}
	if c.turn != nil {
		t.snapshot, t.transaction, t.membership = c.turn.Snapshot, c.turn.Transaction, c.turn.Membership
		return t.run(call)
	}
	if strings.Contains(" "+strings.Join(call.Args, " ")+" ", " --app") {
		c.world.leadsSurely(c.agent)
	}
	result := t.run(call)
	if result.ExitCode != 0 || t.transaction == nil {
		return result
	}
	if err := c.world.say(c.agent, t.transaction, call.Name); err != nil {
		return tool.Failed(fmt.Errorf("cannot store it: %w", err))
	}
	return result
}
