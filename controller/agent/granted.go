package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Content is the content of a granted Secret at a revision. It is in this process and in the bindings,
// which are in memory, and on no disk.
type Content struct {
	Revision int
	Files    map[string]string
}

// Unread lists the granted Secrets whose revision was not read yet, each once.
func (v Projection) Unread() []conversation.Granted {
	var all []conversation.Granted
	for _, r := range v.View.Relations {
		wanted := r.Granted.ID != "" && v.Present[key(r)] && r.Life == conversation.Alive
		if held, read := v.Contents[r.Granted.ID]; wanted && (!read || held.Revision != r.Granted.Revision) && !slices.Contains(all, r.Granted) {
			all = append(all, r.Granted)
		}
	}
	return all
}

// read reports whether all that a relation shows is known, its granted Secret included.
func (v Projection) read(r conversation.Relation) bool {
	_, read := v.Contents[r.Granted.ID]
	return read || r.Granted.ID == ""
}

// refers reports whether a value of a relation's bag is the reference to its granted Secret, which only
// tools use.
func refers(r conversation.Relation, value string) bool {
	return r.Granted.ID != "" && value == secret.Reference(r.Granted.ID)
}

// keepContents keeps contents that relations grant, and drops the others.
func (v *Projection) keepContents(held map[string]Content) {
	v.Contents = nil
	for _, r := range v.View.Relations {
		content, read := held[r.Granted.ID]
		if !read || ended(r) {
			continue
		}
		if v.Contents == nil {
			v.Contents = map[string]Content{}
		}
		v.Contents[r.Granted.ID] = content
	}
}

// readGranted requests granted Secrets, and returns the contents that it received. One that cannot be read holds up no other,
// nor all together the rest of a snapshot for longer than a call may take.
func (a *Agent) readGranted(wanted []conversation.Granted) (given map[string]Content, failed error) {
	ctx, cancel := context.WithTimeout(context.Background(), toolAnswer)
	defer cancel()
	given = map[string]Content{}
	for _, g := range wanted {
		read, err := a.speech.getSecret(ctx, g.ID, secret.Query{})
		switch {
		case err == nil:
			given[g.ID] = contentOf(read, g.Revision)
		case failed == nil || conversation.Unanswered(err):
			failed = fmt.Errorf("cannot read what is granted: %w", err)
		}
	}
	return given, failed
}

// contentOf returns what the files show of a Secret that was read for a revision.
func contentOf(read secret.Reading, revision int) Content {
	content := Content{Revision: revision, Files: make(map[string]string, len(read.Content))}
	for key, value := range read.Content {
		if databag.FileName(key) {
			content.Files[key] = string(value)
		}
	}
	return content
}

// take puts contents into the projection, unless another revision is granted meanwhile, and plans another
// attempt if something is missing. The caller applies.
func (a *Agent) take(given map[string]Content, failed error) {
	if a.reread != nil {
		a.reread.Stop()
		a.reread = nil
	}
	held := map[string]Content{}
	maps.Copy(held, a.view.Contents)
	for _, g := range a.view.Unread() {
		if content, read := given[g.ID]; read && content.Revision == g.Revision {
			held[g.ID] = content
		}
	}
	a.view.keepContents(held)
	a.speech.conceal(a.view.Contents)
	if len(a.view.Unread()) == 0 {
		a.unread = 0
		return
	}
	a.unread++
	pause := retry.After(a.unread)
	switch {
	case !conversation.Unanswered(failed):
	case a.isOpen():
		pause = min(pause, mostPause)
	default: // the pod waits for it
		pause = min(pause, outage)
	}
	if failed != nil {
		glog.Warningf("%v; again in %s", failed, pause)
	}
	a.reread = time.AfterFunc(pause, a.readAgain)
}

// readAgain requests the contents that are still missing.
func (a *Agent) readAgain() {
	a.mu.Lock()
	wanted := a.view.Unread()
	a.mu.Unlock()
	given, failed := a.readGranted(wanted)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.take(given, failed)
	a.apply()
}
