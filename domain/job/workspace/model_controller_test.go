package workspace_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the model speaks the words of the room
)

// change is what the controller writes if the Workspace has not changed meanwhile.
type change struct {
	version int
	at      time.Duration
	what    string
	next    Workspace
}

// control lets the controller decide one step. It may write it later.
func (m *model) control() error {
	if l := m.ws.Lock; l.Held() {
		if !m.watch.Follows(l.Fence, l.Claimant.ID) {
			m.watch = job.NewWatch(l.Fence, l.Claimant.ID, m.now)
		}
		m.watch = m.watch.Receive(l.Fence, m.leases[l.Fence], m.now)
	}
	what, next, err := m.next()
	if m.fault != nil {
		return m.fault
	}
	if err != nil || what == "" {
		return nil //nolint:nilerr // the controller tries again later
	}
	m.pending = append(m.pending, change{m.version, m.now, what, next})
	if m.chance(40) {
		return nil
	}
	return m.writePending()
}

// next decides the controller's next step; an empty word means that there is none, or that it was done.
func (m *model) next() (string, Workspace, error) {
	if m.chance(25) || m.fair {
		m.seen = len(m.ends)
	}
	ended, last, published := m.cached(), m.find(m.ws.Last.Run), m.ws.Last.Fence
	if last != nil && !ended[last] {
		published = 0
	}
	if last != nil && last.end == "" {
		m.log("publish %s: %s", last, m.ws.Last.Outcome)
		m.publish(last, m.ws.Last.Outcome, m.ws.Last.Fence)
		return "", m.ws, nil
	}
	if l := m.ws.Lock; l.Held() {
		return m.nextOfHold(l)
	}
	for _, r := range m.runs {
		if ended[r] {
			continue
		}
		if r.cancelled {
			if r.end == "" {
				m.publish(r, job.None, 0)
			}
			continue
		}
		next, err := m.ws.Acquire(Admission{Run: r.Run, Published: published, Plan: r.applies, Extent: m.extent(), Now: m.time()})
		if cause := m.refuses(err); cause != "" {
			m.counts[cause]++
			m.publish(r, job.None, 0)
			return "", m.ws, nil
		}
		return "acquire", next, err
	}
	return "", m.ws, nil
}

// refuses returns why a Run that applies a plan ends without the lock; "" for one that goes on.
func (m *model) refuses(err error) string {
	switch {
	case errors.Is(err, ErrVoid):
		return "void plan"
	case errors.Is(err, ErrReplaced):
		return "replaced plan"
	}
	return ""
}

// approve lets a person approve a plan, which may be an old one, after the end of a Run that made one.
func (m *model) approve(r *run) {
	if !r.plans || len(m.plans) == 0 {
		return
	}
	digest := m.plans[len(m.plans)-1]
	if m.chance(20) {
		digest = m.plans[m.r.IntN(len(m.plans))]
	}
	m.log("approve %s", digest)
	applier := &run{Run: Run{UID: "apply" + r.UID, Name: "apply" + r.UID}, applies: digest}
	m.runs = slices.Insert(m.runs, m.r.IntN(len(m.runs)+1), applier)
}

// publish writes an end into the status of a Run. The controller's cache of Runs sees it later.
func (m *model) publish(r *run, outcome job.Outcome, fence int64) {
	r.end = outcome
	m.served = max(m.served, fence)
	m.ends = append(m.ends, r)
	m.approve(r)
}

// cached returns the Runs that the controller's cache shows as ended.
func (m *model) cached() map[*run]bool {
	ended := map[*run]bool{}
	for _, r := range m.ends[:m.seen] {
		ended[r] = true
	}
	return ended
}

// nextOfHold decides the next step about a hold.
func (m *model) nextOfHold(l Lock) (string, Workspace, error) {
	e := Evidence{Fence: l.Fence, Silence: m.watch.Silence(m.now), Uploaded: m.uploaded(l.Fence), Now: m.time()}
	if l.Run.Person {
		next, err := m.ws.Expire(e)
		return "expire", next, err
	}
	r, alive, made := m.find(l.Run), false, false
	for _, p := range m.pods {
		mine := p.run == r && p.attempt == l.Attempt
		made = made || mine
		alive = alive || mine && p.alive && !p.done
	}
	claimed := m.claims[l.Fence]
	if m.chance(10) {
		return m.careless(l, e, claimed)
	}
	switch {
	case l.Claimant.ID == "" && claimed != "":
		next, err := m.ws.Claim(Start{Run: l.Run, Attempt: l.Attempt, Claimant: Claimant{ID: claimed}, Recorded: claimed, Extent: m.extent()})
		return "complete claim", next, err
	case l.Claimant.ID == "" && (r.cancelled || r.end != ""):
		next, err := m.ws.Withdraw(l.Run, claimed)
		return "withdraw", next, err
	case !made || l.Claimant.ID == "" && m.chance(5):
		m.pods = append(m.pods, &pod{run: r, attempt: l.Attempt, id: fmt.Sprintf("p%d", len(m.pods)), alive: true})
		return "", m.ws, nil
	case l.Claimant.ID == "" && !alive:
		next, err := m.ws.Replace(l.Run, l.Attempt, claimed, m.extent())
		return "replace", next, err
	case l.Claimant.ID == "":
		return "", m.ws, nil
	}
	if l.Safety.Expires() {
		next, err := m.ws.Expire(e)
		return "expire", next, err
	}
	e.Vanished = !alive
	next, err := m.ws.Lose(e)
	return "lose", next, err
}

// careless lets a controller ask for a step that does not fit.
func (m *model) careless(l Lock, e Evidence, claimed string) (string, Workspace, error) {
	if m.chance(30) {
		e.Fence--
	}
	var next Workspace
	var err error
	what := []string{"expire", "lose", "withdraw", "replace", "acquire"}[m.r.IntN(5)]
	switch what {
	case "expire":
		next, err = m.ws.Expire(e)
	case "lose":
		next, err = m.ws.Lose(e)
	case "withdraw":
		next, err = m.ws.Withdraw(l.Run, claimed)
	case "replace":
		next, err = m.ws.Replace(l.Run, l.Attempt, claimed, m.extent())
	case "acquire":
		r := m.runs[m.r.IntN(len(m.runs))]
		next, err = m.ws.Acquire(Admission{Run: r.Run, Published: m.ws.Last.Fence, Plan: r.applies, Extent: m.extent(), Now: m.time()})
	}
	if err == nil && e.Fence != l.Fence && (what == "expire" || what == "lose") {
		m.fault = broken("J6", "%s of fence %d counts for fence %d", what, e.Fence, l.Fence)
	}
	return what, next, err
}

func (m *model) find(r Run) *run {
	for _, known := range m.runs {
		if known.Run == r {
			return known
		}
	}
	return nil
}

// writePending writes what the controller decided, if the Workspace has not changed meanwhile.
func (m *model) writePending() error {
	if len(m.pending) == 0 {
		return nil
	}
	c := m.pending[0]
	m.pending = m.pending[1:]
	if c.version != m.version || reflect.DeepEqual(c.next, m.ws) {
		return nil
	}
	m.log("%s", c.what)
	if c.what == "expire" {
		if err := m.checkExpiry(c); err != nil {
			return err
		}
	}
	return m.write(c.what, c.next)
}

// checkExpiry checks that a lock expires only if nothing runs.
func (m *model) checkExpiry(c change) error {
	if !m.ws.Lock.Safety.Expires() {
		return broken("J6", "an exclusive lock expires")
	}
	for _, p := range m.pods {
		if p.fence == m.ws.Lock.Fence && p.running {
			return broken("J6", "the lock expires while %s runs", p.id)
		}
	}
	if b := m.uploaded(m.ws.Lock.Fence); b.Key != "" && m.blobs[b.Key].at < c.at && !c.next.Names(b.Key) {
		return broken("J6", "the archive of fence %d is lost silently", m.ws.Lock.Fence)
	}
	return nil
}
