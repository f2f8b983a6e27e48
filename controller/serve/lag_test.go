package serve

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	podagent "gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// history is what the API server has stored: revisions go up over all kinds,
// and each kind has one object, which a removal takes away.
type history struct {
	revision uint64
	writes   map[string][]write
}

//nolint:gochecknoglobals // a table
var kindsOfHistory = []string{"databags", "relations", "relatedapplications"}

type write struct {
	revision uint64
	removal  bool
}

// at returns the revision of a kind's object at a revision; 0 for none.
func (h *history) at(kind string, revision uint64) uint64 {
	at := uint64(0)
	for _, w := range h.writes[kind] {
		switch {
		case w.revision > revision:
			return at
		case w.removal:
			at = 0
		default:
			at = w.revision
		}
	}
	return at
}

// lagging is a replica whose caches lag behind a history, each by itself, and
// whose handlers run later than its stores.
type lagging struct {
	*replica
	h *history
	// unheard are what handlers have still to hear of.
	unheard map[string]uint64
}

// catchUp applies further writes of a kind to the store. A relist jumps to the
// end, and handlers never hear of a removal in between.
func (l lagging) catchUp(kind string, count int, relist bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.h.writes[kind] {
		if w.revision <= l.caughtUp[kind] {
			continue
		}
		if count--; count < 0 {
			break
		}
		l.caughtUp[kind] = w.revision
		if !relist || !w.removal {
			l.unheard[kind] = w.revision
		}
	}
	if relist {
		l.caughtUp[kind] = l.h.revision // and a bookmark
	}
	view, bag := blog(""), map[string]string{"host": ""}
	l.shown = map[string]uint64{}
	for k, revision := range l.caughtUp {
		if at := l.h.at(k, revision); at > 0 {
			l.shown[k] = at
			bag[k] = strconv.FormatUint(at, 10)
		}
	}
	contents := domain.BagMap{}
	view.Relations[0].Shown.RemoteBag, view.Bags = contents.Put(bag), contents
	l.views["blog"] = view
}

// announce lets the handlers run.
func (l lagging) announce() {
	l.mu.Lock()
	for kind, revision := range l.unheard {
		l.heard[kind] = max(l.heard[kind], revision)
	}
	l.mu.Unlock()
	l.server.ApplicationChanged("shop", "blog")
}

// wanderer is an agent that hops between replicas.
type wanderer struct {
	t      *rapid.T
	view   podagent.Projection
	stream *conversation
	used   map[string]uint64
}

// hop begins a conversation, unless the replica sends it away.
func (w *wanderer) hop(l lagging) bool {
	if w.stream != nil {
		w.stream.leave()
		w.stream = nil
	}
	if behindIn(l.CaughtUp(), w.view.Revisions) != "" {
		return false
	}
	c := &conversation{server: l.server, bell: newBell(), floor: floor{revisions: w.view.Revisions}, Membership: identity.Membership{Application: "blog"}}
	c.identity = identity.Identity{Namespace: "shop", Pod: "blog-1", UID: "uid-blog-1"}
	a, leave := l.server.hub.join(applicationTopic("shop", "blog"), c.bell)
	c.audience, c.leaving = a, append(c.leaving, leave)
	w.stream = c
	w.listen()
	return true
}

// listen has the stream say what it has to say, at the beginning or at a ring.
func (w *wanderer) listen() {
	if err := w.stream.say(w.t.Context(), w); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wanderer) ring() {
	if w.stream == nil {
		return
	}
	select {
	case <-w.stream.bell.rung:
		w.listen()
	default:
	}
}

// bag is what the agent has of the database's.
func (w *wanderer) bag() map[string]string {
	return w.view.View.Bag(w.view.View.Relations[0].RemoteBag)
}

// Send is the agent's side: it accepts a snapshot as the agent does.
func (w *wanderer) Send(response *v1alpha1.ConverseResponse) error {
	contents := domain.BagMap{}
	for _, bag := range convert.Databags(response.GetSnapshot()) {
		contents[convert.RefTo(bag)] = bag.GetData()
	}
	heard := convert.ToUpdate(response.GetSnapshot(), contents)
	if kind := w.view.Behind(heard); kind != "" {
		w.t.Fatalf("a replica that did not send the agent away said less of %s than it has used: %v after %v", kind, heard.Revisions, w.view.Revisions)
	}
	w.view = w.view.Merge(heard)
	for kind, text := range w.bag() {
		revision, _ := strconv.ParseUint(text, 10, 64)
		if kind != "host" && revision < w.used[kind] {
			w.t.Fatalf("acted on %s at %d after %d (SAFETY.md V4)", kind, revision, w.used[kind])
		}
		w.used[kind] = revision
	}
	return nil
}

// SAFETY.md V4, with two caches of independent lag, watches that were down and
// handlers that run later than their store: an agent never acts on data older
// than it has used, and the last write always arrives (RELATIONS.md V3),
// whichever replica is left.
func TestTwoCachesWithIndependentLag(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{writes: map[string][]write{}}
		var replicas [2]lagging
		for i := range replicas {
			r := newReplica()
			r.heard, r.caughtUp = map[string]uint64{}, map[string]uint64{}
			for _, kind := range kindsOfHistory {
				r.caughtUp[kind] = 0 // it follows each from the beginning, be there nothing yet
			}
			replicas[i] = lagging{r, h, map[string]uint64{}}
			replicas[i].catchUp("databags", 0, false)
		}
		w := &wanderer{t: t, used: map[string]uint64{}}
		kinds := rapid.SampledFrom(kindsOfHistory)
		which := rapid.IntRange(0, 1)
		t.Repeat(map[string]func(*rapid.T){
			"Write": func(t *rapid.T) {
				h.revision++
				kind := kinds.Draw(t, "kind")
				h.writes[kind] = append(h.writes[kind], write{h.revision, rapid.Bool().Draw(t, "removal")})
			},
			"CatchUp": func(t *rapid.T) {
				replicas[which.Draw(t, "replica")].catchUp(kinds.Draw(t, "kind"), rapid.IntRange(1, 3).Draw(t, "writes"), false)
			},
			"Relist": func(t *rapid.T) {
				replicas[which.Draw(t, "replica")].catchUp(kinds.Draw(t, "kind"), 1<<30, true)
			},
			"Announce": func(t *rapid.T) { replicas[which.Draw(t, "replica")].announce() },
			"Hop":      func(t *rapid.T) { w.hop(replicas[which.Draw(t, "replica")]) },
			"Ring":     func(*rapid.T) { w.ring() },
			"":         func(*rapid.T) {},
		})
		survivor := replicas[which.Draw(t, "survivor")]
		stays := w.stream != nil && w.stream.server == survivor.server
		for _, kind := range kindsOfHistory {
			survivor.catchUp(kind, 1<<30, rapid.Bool().Draw(t, "relist"))
		}
		survivor.announce()
		if stays {
			w.ring()
		} else if !w.hop(survivor) {
			t.Fatalf("a replica at the end of history sends an agent away: %v, which used %v", survivor.CaughtUp(), w.view.Revisions)
		}
		for kind := range h.writes {
			got, _ := strconv.ParseUint(w.bag()[kind], 10, 64)
			if last := h.at(kind, h.revision); got != last {
				t.Fatalf("the last write of %s is %d, the agent has %d", kind, last, got)
			}
		}
	})
}
