package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

func wait(w *world, s step) error {
	d, err := time.ParseDuration(s.words["DURATION"])
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is not a duration: write for example 90s or 24h", s.words["DURATION"])
	}
	return w.wait(d)
}

// relate makes a relation by hand, between ends that are declared or offered.
func relate(w *world, s step) error {
	requirer, err := parseEnd(s.words["END"])
	if err != nil {
		return err
	}
	provider, err := parseEnd(s.words["PROVIDER"])
	if err != nil {
		return err
	}
	pair := relation.Pair{Key: relation.Key{Requirer: requirer, Provider: provider}}
	for _, e := range w.records[requirer.Application].State.Endpoints {
		if e.Name == requirer.Endpoint {
			pair.Interface, pair.Version = e.Interface, e.Version
		}
	}
	w.makeRelation(pair, "relation-"+strconv.Itoa(w.uids+1), false, 0)
	return w.rest()
}

func parseEnd(text string) (relation.End, error) {
	name, endpoint, found := strings.Cut(text, ":")
	if !found {
		return relation.End{}, fmt.Errorf("%q is not an end of a relation: write application:endpoint", text)
	}
	e := relation.End{Namespace: namespace, Application: name, Endpoint: endpoint}
	if own, other, elsewhere := strings.Cut(name, "."); elsewhere {
		e.Application, e.Namespace = own, other
	}
	return e, nil
}

func endRelation(w *world, s step) error {
	r, err := w.relationCalled(s.words["ID"])
	if err != nil {
		return err
	}
	w.remove(r.Name, r.UID)
	return w.rest()
}

func run(w *world, s step) error    { return w.runCommand(s, true) }
func refuse(w *world, s step) error { return w.runCommand(s, false) }

// runCommand runs tools in a unit's pod, each in a transaction of its own.
func (w *world) runCommand(s step, succeeds bool) error {
	a, err := w.living(s)
	if err != nil {
		return err
	}
	code, said := w.runScript(s.words["COMMAND"], &caller{world: w, agent: a, env: map[string]string{}})
	for line := range strings.Lines(said) {
		w.tell(w.now, "%s prints: %s", s.words["UNIT"], strings.TrimRight(line, "\n"))
	}
	if (code == 0) != succeeds {
		return fmt.Errorf("it ended with exit code %d and said: %s", code, strings.TrimSpace(said))
	}
	if err := w.rest(); err != nil || len(s.expected) == 0 {
		return err
	}
	return s.compare(linesOf(said))
}

func linesOf(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimRight(line, "\n"))
	}
	return all
}

func setHandler(w *world, s step) error {
	key := s.words["NAME"] + "/" + s.words["HOOK"]
	if s.words["FILE"] == "none" {
		delete(w.handlers, key)
		return nil
	}
	text, err := w.scenario.file(s.words["FILE"])
	w.handlers[key] = text
	return err
}

// withAgent is a step about the agent of a living unit.
func withAgent(w *world, s step, do func(a *agent) error) error {
	a, err := w.living(s)
	if err != nil {
		return err
	}
	if err := do(a); err != nil {
		return err
	}
	return w.rest()
}

func fail(w *world, s step) error {
	times, err := strconv.Atoi(s.words["TIMES"])
	if err != nil {
		return fmt.Errorf("%q is not a number", s.words["TIMES"])
	}
	return withAgent(w, s, func(a *agent) error { a.fails = times; return nil })
}

func stall(w *world, s step) error {
	return withAgent(w, s, func(a *agent) error { a.stalls = true; return nil })
}

func resume(w *world, s step) error {
	return withAgent(w, s, func(a *agent) error {
		if a.turn == nil {
			return fmt.Errorf("no handler of %s hangs", s.words["UNIT"])
		}
		w.done(a, 0)
		return nil
	})
}

func restartAgent(w *world, s step) error { return withAgent(w, s, w.restart) }

func crashAgent(w *world, s step) error {
	return withAgent(w, s, func(a *agent) error { a.dies = true; return nil })
}

func cutOff(w *world, s step) error {
	return withAgent(w, s, func(a *agent) error { a.cutOff = true; return nil })
}

func reconnect(w *world, s step) error {
	return withAgent(w, s, func(a *agent) error { a.cutOff, a.sent = false, nil; return nil })
}

func hold(w *world, s step) error {
	return withAgent(w, s, func(a *agent) error { a.held = true; return nil })
}

// delivered has the snapshots that wait arrive as they are chosen, each with what
// its unit then hears, and ends the hold.
func delivered(w *world, s step, choose func([]letter) []letter) error {
	return withAgent(w, s, func(a *agent) error {
		waiting := a.waiting
		a.waiting, a.held = nil, false
		return w.arrive(a, choose(waiting))
	})
}

func (w *world) arrive(a *agent, letters []letter) error {
	for _, l := range letters {
		w.deliver(a, l)
		for w.next(a) { // all that this snapshot tells
			continue
		}
	}
	return nil
}

func deliverAll(w *world, s step) error {
	return delivered(w, s, func(all []letter) []letter { return all })
}

func deliverLast(w *world, s step) error {
	return delivered(w, s, func(all []letter) []letter { return all[max(0, len(all)-1):] })
}

func deliverReversed(w *world, s step) error {
	return delivered(w, s, func(all []letter) []letter {
		all = slices.Clone(all)
		slices.Reverse(all)
		return all
	})
}

func deliverTwice(w *world, s step) error {
	return delivered(w, s, func(all []letter) []letter { return slices.Concat(all, all) })
}

func deliverNext(w *world, s step) error {
	return withAgent(w, s, func(a *agent) error {
		if len(a.waiting) == 0 {
			return fmt.Errorf("nothing is on its way to %s", s.words["UNIT"])
		}
		first := a.waiting[0]
		a.waiting = a.waiting[1:]
		return w.arrive(a, []letter{first})
	})
}

func stopController(w *world, _ step) error {
	w.stopped = true
	return w.rest()
}

// startController starts one that has seen nothing: streams begin anew.
func startController(w *world, _ step) error {
	w.stopped, w.writesLeft, w.diesCommitted = false, -1, false
	for _, a := range w.agents {
		a.sent = nil
	}
	return w.rest()
}

func crashController(w *world, s step) error {
	n, err := strconv.Atoi(s.words["WRITES"])
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number of writes", s.words["WRITES"])
	}
	w.writesLeft = n
	return nil
}

func crashCommit(w *world, _ step) error {
	w.diesCommitted = true
	return nil
}
