package workspace_test

import (
	"errors"
	"fmt"
	"reflect"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the model speaks the words of the room
)

// serve lets the jobs API handle a message. It may die after each write, so that the next ones and the answer are lost.
func (m *model) serve(msg message) error {
	before := m.ws
	answer := message{kind: "answer", of: msg.kind, pod: msg.pod, end: msg.end}
	next, err := m.handle(msg, &answer)
	answer.err = err
	m.log("%s of %s: %v %s", msg.kind, msg.pod.id, err, answer.result)
	if err := m.write(msg.kind, next); err != nil {
		return err
	}
	switch {
	case err == nil && msg.kind == "claim":
		if err := m.grants(msg, answer.lock); err != nil {
			return err
		}
	case msg.kind == "end" && msg.end.Outcome == job.Committed && answer.result == "" && !errors.Is(err, ErrInvalid):
		return broken("J7", "the end of %s has no outcome, cancelled or not", msg.pod.run)
	case msg.kind == "end" && (answer.result == job.Committed || answer.result == job.Orphaned) && !m.ws.Names(msg.end.Blob.Key):
		return broken("J3", "archive %s was answered %s, and is lost", msg.end.Blob.Key, answer.result)
	case !isRefusal(err) && err != nil:
		return broken("J8", "an error without a reason: %v", err)
	}
	var repeated message
	again, err2 := m.handle(msg, &repeated)
	if repeated.result != answer.result || (err2 == nil) != (err == nil) {
		return broken("J8", "a repeated %s is answered %s, %v, not %s, %v", msg.kind, repeated.result, err2, answer.result, err)
	}
	if !reflect.DeepEqual(again, m.ws) {
		return broken("J8", "a repeated %s changes\n%+v\nto\n%+v\nbefore\n%+v", msg.kind, m.ws, again, before)
	}
	if m.chance(8) {
		return nil // the answer is lost, and so is the record
	}
	m.record()
	answer.cancel = msg.pod.run.cancelled
	answer.sent = msg.sent
	m.net = append(m.net, answer)
	return nil
}

// record writes what the store records of the Workspace.
func (m *model) record() {
	if m.ws.State.Number > 0 {
		m.records[m.ws.State.Number] = m.ws.State.Blob
	}
}

// handle returns the Workspace after a message.
func (m *model) handle(msg message, answer *message) (Workspace, error) {
	switch msg.kind {
	case "claim":
		s := msg.start
		s.Extent = m.extent()
		s.Recorded = m.claims[m.ws.Lock.Fence]
		next, err := m.ws.Claim(s)
		if err == nil {
			m.claims[next.Lock.Fence] = s.Claimant.ID
			answer.lock = next.Lock
		}
		return next, err
	case "renew":
		l := m.ws.Lock
		if l.Fence != msg.pod.fence {
			return m.ws, ErrStale
		}
		m.leases[l.Fence] = max(m.leases[l.Fence], msg.number)
		return m.ws, nil
	case "save":
		if _, there := m.blobs[msg.save.Checkpoint.Key]; !there {
			return m.ws, ErrInvalid
		}
		return m.ws.Save(msg.save)
	}
	if _, there := m.blobs[msg.end.Blob.Key]; !there && msg.end.Blob.Key != "" {
		return m.ws, ErrInvalid
	}
	end := msg.end
	end.Extent = m.extent()
	next, outcome, err := m.ws.End(end)
	answer.result = outcome
	return next, err
}

// grants checks a granted claim.
func (m *model) grants(msg message, l Lock) error {
	if msg.pod.run.end != "" && m.restores == 0 {
		return broken("J1", "%s was granted a claim after its end", msg.pod.run)
	}
	if known := m.granted[l.Fence]; known != "" && known != msg.start.Claimant.ID {
		return broken("J2", "fence %d was granted to %s and %s", l.Fence, known, msg.start.Claimant.ID)
	}
	m.granted[l.Fence] = msg.start.Claimant.ID
	return nil
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
		return nil
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
		next, err := m.ws.Acquire(Admission{Run: r.Run, Published: published, Extent: m.extent(), Now: m.time()})
		return "acquire", next, err
	}
	return "", m.ws, nil
}

// publish writes an end into the status of a Run. The controller's cache of Runs sees it later.
func (m *model) publish(r *run, outcome job.Outcome, fence int64) {
	r.end = outcome
	m.served = max(m.served, fence)
	m.ends = append(m.ends, r)
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
	r, alive, any := m.find(l.Run), false, false
	for _, p := range m.pods {
		mine := p.run == r && p.attempt == l.Attempt
		any = any || mine
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
	case !any || l.Claimant.ID == "" && m.chance(5):
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
		next, err = m.ws.Acquire(Admission{Run: r.Run, Published: m.ws.Last.Fence, Extent: m.extent(), Now: m.time()})
	}
	if err == nil && e.Fence != l.Fence && (what == "expire" || what == "lose") {
		m.fault = broken("J6", "%s of fence %d counts for fence %d", what, e.Fence, l.Fence)
	}
	return what, next, err
}

// uploaded returns the archive of the end of a hold that the store holds.
func (m *model) uploaded(fence int64) Blob {
	for _, p := range m.pods {
		if b := p.capture.Blob; p.fence == fence && b.Key != "" {
			if _, there := m.blobs[b.Key]; there {
				return b
			}
		}
	}
	return Blob{}
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

// person lets a person decide something, perhaps about what the person saw a while ago.
func (m *model) person() error {
	seen := m.ws
	if n := len(m.snaps); n > 0 && m.chance(20) {
		seen = m.snaps[max(0, n-3)]
	}
	if m.ws.Phase(m.extent()) == StoreAhead {
		if !m.chance(30) {
			return m.acceptStore()
		}
	}
	if m.chance(15) {
		return m.push()
	}
	if m.chance(15) && len(seen.Kept) > 0 {
		to := seen.Kept[m.r.IntN(len(seen.Kept))].Number
		next, err := m.ws.Rollback(to, seen.State.Number, "ann", m.extent())
		if err == nil && seen.State.Number != m.ws.State.Number {
			return broken("J6", "a rollback counts for what the person did not see")
		}
		return m.decided("rollback", next, err)
	}
	v := Verdict{
		Fence: seen.Lock.Fence, Seen: seen.State.Number, Torn: m.r.IntN(2) == 0, By: "ann", Extent: m.extent(),
		Uploaded: m.uploaded(m.ws.Lock.Fence), Now: m.time(),
	}
	if !seen.Lock.Held() {
		v.Fence = seen.Last.Fence
	}
	v.Remedy = Propose(seen)
	if m.chance(70) {
		v.Remedy = []Remedy{AcceptGeneration, AcceptCheckpoint, AcceptOrphan, Retry, Discard}[m.r.IntN(5)]
	}
	if n := len(seen.Orphans); n > 0 {
		v.Orphan = seen.Orphans[m.r.IntN(n)].Key
	}
	if v.Remedy == Discard && m.chance(50) {
		v.Orphan = ""
	}
	next, err := m.ws.Decide(v)
	if err == nil && (v.Fence != m.ws.Lock.Fence && m.ws.Lock.Held() && v.Orphan == "" || v.Seen != m.ws.State.Number) {
		return broken("J6", "a decision counts for what the person did not see")
	}
	if err == nil && v.Remedy == AcceptCheckpoint && m.ws.Checkpoint.Torn && !v.Torn {
		return broken("J6", "a torn checkpoint is accepted unasked")
	}
	return m.decided(string(v.Remedy), next, err)
}

// decided writes a person's decision, after which a process of the hold may go on although another one may start.
func (m *model) decided(what string, next Workspace, err error) error {
	m.log("a person decides %s: %v", what, err)
	if err != nil {
		if !reflect.DeepEqual(next, m.ws) {
			return broken("J6", "a refused decision changes the Workspace")
		}
		return nil
	}
	if next.Lock.Fence != m.ws.Lock.Fence {
		for _, p := range m.pods {
			p.disowned = p.disowned || p.fence == m.ws.Lock.Fence || p.fence == 0 && !next.Lock.Held()
		}
	}
	m.choice = what
	if err := m.write("person", next); err != nil {
		return err
	}
	if !m.chance(8) {
		m.record()
	}
	return nil
}

func (m *model) acceptStore() error {
	m.counts["the store is ahead"]++
	e := m.extent()
	r := Restored{Newest: m.records[e.Generation], Adopt: m.r.IntN(2) == 0, By: "ann", Extent: e, Uploaded: m.uploaded(m.ws.Lock.Fence), Now: m.time()}
	if _, there := m.blobs[r.Newest.Key]; !there {
		r.Newest, r.Adopt = Blob{}, false
	}
	next, err := m.ws.AcceptStore(r)
	for _, p := range m.pods {
		p.disowned = true
	}
	return m.decided("the store", next, err)
}

// push lets a person give a state.
func (m *model) push() error {
	name := fmt.Sprintf("push%d", m.steps)
	next, err := m.ws.Acquire(Admission{
		Run: Run{UID: name, Name: name, Person: true}, Published: m.ws.Last.Fence, Extent: m.extent(), Now: m.time(),
	})
	if err != nil {
		return nil
	}
	m.log("push")
	if err := m.write("acquire", next); err != nil || m.chance(20) {
		return err
	}
	l := m.ws.Lock
	m.claims[l.Fence] = name
	b := Blob{Digest: name, Key: fmt.Sprintf("%d/%s", l.Fence, name), Fence: l.Fence}
	m.blobs[b.Key] = object{l.Fence, m.now}
	next, _, err = m.ws.End(Capture{Run: l.Run, Fence: l.Fence, Base: l.Base, Outcome: job.Committed, Blob: b, Now: m.time()})
	if err != nil {
		return broken("J3", "a push is not committed: %v", err)
	}
	if err := m.write("end", next); err != nil {
		return err
	}
	m.record()
	return nil
}

// restore puts an older object in place of the Workspace.
func (m *model) restore() error {
	if len(m.snaps) == 0 {
		return nil
	}
	m.ws = m.snaps[m.r.IntN(len(m.snaps))]
	m.version++
	m.restores++
	m.counts["restore"]++
	m.log("restore: %+v", m.ws)
	m.pending, m.watch = nil, job.Watch{}
	for _, key := range keys(m.ws) {
		if _, there := m.blobs[key]; !there {
			m.gone[key] = true
		}
	}
	for number := range m.history { // what the store has no record of cannot be known
		if number > m.ws.State.Number && number > m.extent().Generation {
			delete(m.history, number)
		}
	}
	return nil
}

// keys returns the keys of all archives that a Workspace refers to.
func keys(w Workspace) []string {
	all := []string{w.State.Key, w.Checkpoint.Key}
	for _, g := range w.Kept {
		all = append(all, g.Key)
	}
	for _, o := range w.Orphans {
		if !o.Discarded {
			all = append(all, o.Key)
		}
	}
	return all
}

// write stores the next Workspace and checks every rule.
func (m *model) write(cause string, next Workspace) error {
	before := m.ws
	if reflect.DeepEqual(before, next) {
		return nil
	}
	m.snaps = append(m.snaps, before)
	if cause != "person" {
		m.choice = ""
	}
	m.counts[cause]++
	if next.Last.Fence != before.Last.Fence {
		m.counts[string(next.Last.Outcome)]++
	}
	m.ws = next
	m.version++
	for _, check := range []func(string, Workspace, Workspace) error{m.checkFence, m.checkLineage, m.checkLock, m.checkAhead} {
		if err := check(cause, before, next); err != nil {
			return err
		}
	}
	return m.checkAlways()
}

func (m *model) checkFence(cause string, before, next Workspace) error {
	switch {
	case next.Lock.Held() && next.Lock.Fence == before.Lock.Fence && (next.Lock.Run != before.Lock.Run || next.Lock.Attempt != before.Lock.Attempt):
		return broken("J2", "%s gives fence %d to another attempt", cause, next.Lock.Fence)
	case next.Fence < before.Fence:
		return broken("J2", "%s lowers the fence from %d to %d", cause, before.Fence, next.Fence)
	case next.Lock.Held() && next.Lock.Fence != before.Lock.Fence && (next.Lock.Fence <= before.Fence || m.granted[next.Lock.Fence] != ""):
		return broken("J2", "%s uses fence %d again", cause, next.Lock.Fence)
	}
	return nil
}

func (m *model) checkLineage(cause string, before, next Workspace) error {
	if next.Last.Fence != before.Last.Fence && next.Last.Outcome == "" {
		return broken("J4", "%s ends without an outcome", next.Last.Run)
	}
	if next.Checkpoint.Fence == before.Checkpoint.Fence && next.Checkpoint.Sequence < before.Checkpoint.Sequence {
		return broken("J8", "an older checkpoint overwrites a newer one")
	}
	if next.State.Number == before.State.Number {
		if next.State.Blob != before.State.Blob {
			return broken("J3", "%s changes generation %d", cause, next.State.Number)
		}
		return nil
	}
	g := next.State
	known, taken := m.history[g.Number]
	switch {
	case taken && known != g.Blob:
		return broken("J3", "%s makes generation %d of %v, which is of %v", cause, g.Number, g.Blob, known)
	case cause == "end" && g.Digest == before.State.Digest:
		return broken("J12", "unchanged state is generation %d", g.Number)
	case g.Base != before.State.Number || g.Number <= g.Base || g.Number != g.Base+1 && m.choice != "the store":
		return broken("J3", "generation %d has base %d, but %d was current", g.Number, g.Base, before.State.Number)
	case cause == "end" && (!before.Lock.Held() || g.Fence != before.Lock.Fence || g.Base != before.Lock.Base):
		return broken("J3", "generation %d is of fence %d, but the lock's is %d", g.Number, g.Fence, before.Lock.Fence)
	case len(next.Kept) == 0 || next.Kept[0] != before.State:
		return broken("J3", "generation %d is not kept", before.State.Number)
	}
	m.history[g.Number] = g.Blob
	return nil
}

func (m *model) checkLock(cause string, before, next Workspace) error {
	if cause == "acquire" && !before.Lock.Held() && !before.Terms.Safety.Expires() && before.State.Exit.Torn() && !before.State.Accepted {
		return broken("J6", "an exclusive run starts from what a killed process left")
	}
	if !before.Lock.Held() || next.Lock.Fence == before.Lock.Fence {
		return nil
	}
	started := before.Lock.Claimant.ID != ""
	switch {
	case cause == "person":
	case cause == "end" && started && (next.Last.Outcome.Releases() || before.Lock.Run.Person):
	case cause == "expire" && before.Lock.Safety.Expires():
	case (cause == "replace" || cause == "withdraw") && !started:
	default:
		return broken("J6", "%s changes the holder from %+v to %+v", cause, before.Lock, next.Lock)
	}
	if key := before.Checkpoint.Key; cause != "end" && m.choice != "discard" && before.Checkpoint.Digest != before.State.Digest &&
		before.Checkpoint.Digest != next.State.Digest && !next.Names(key) && m.uploaded(before.Lock.Fence).Digest != before.Checkpoint.Digest {
		return broken("J6", "checkpoint %s is lost silently", key)
	}
	return nil
}

func (m *model) checkAhead(cause string, before, next Workspace) error {
	if cause == "person" && m.choice == "the store" || before.Phase(m.extent()) != StoreAhead {
		return nil
	}
	switch {
	case next.Lock.Claimant.ID != before.Lock.Claimant.ID && next.Lock.Claimant.ID != "" && m.claims[next.Lock.Fence] != next.Lock.Claimant.ID:
		return broken("J20", "%s claims while the store is ahead", cause)
	case cause == "person" && next.State.Number != before.State.Number:
		return broken("J20", "%s changes the state while the store is ahead", m.choice)
	case next.Lock.Fence > before.Lock.Fence:
		return broken("J20", "%s starts while the store is ahead", cause)
	}
	return nil
}

// checkAlways checks what is true at each moment.
func (m *model) checkAlways() error {
	for _, key := range keys(m.ws) {
		if _, there := m.blobs[key]; key != "" && !there && !m.gone[key] {
			return broken("J5", "archive %s is deleted", key)
		}
	}
	var runs []string
	for _, p := range m.pods {
		if p.running && !p.disowned {
			runs = append(runs, p.id)
		}
	}
	if len(runs) > 1 {
		return broken("J1", "%v run at the same time", runs)
	}
	return nil
}

// isRefusal reports whether an error is one of the room's.
func isRefusal(err error) bool {
	for _, known := range []error{ErrHeld, ErrStale, ErrWaits, ErrAhead, ErrEarly, ErrInvalid} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
