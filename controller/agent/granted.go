package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Content is what was read of a Secret that is granted, as of a revision. It is in this
// process and in the bindings, which are in memory, and is remembered on no disk.
type Content struct {
	Revision int
	Files    map[string]string
}

// Unread lists what relations grant and was not read as of that revision, each once.
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

// read reports whether all that a relation shows is known: what it grants too.
func (v Projection) read(r conversation.Relation) bool {
	_, read := v.Contents[r.Granted.ID]
	return read || r.Granted.ID == ""
}

// allRead reports whether nothing is missing of what is granted.
func (v Projection) allRead() bool {
	return !slices.ContainsFunc(v.View.Relations, func(r conversation.Relation) bool { return !ended(r) && !v.read(r) })
}

// refers reports whether a value of the relation's bag is the reference to what it
// grants, which is of use for tools alone.
func refers(r conversation.Relation, value string) bool {
	return r.Granted.ID != "" && value == secret.Reference(r.Granted.ID)
}

// keepContents keeps what was read as long as a relation grants it.
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

// readGranted asks for what is granted, and returns what it was given.
func (a *Agent) readGranted(wanted []conversation.Granted) (map[string]Content, error) {
	given := map[string]Content{}
	for _, g := range wanted {
		read, err := a.speech.getSecret(context.Background(), g.ID, secret.Query{})
		if err != nil {
			return given, fmt.Errorf("cannot read what is granted: %w", err)
		}
		content := Content{Revision: g.Revision, Files: make(map[string]string, len(read.Content))}
		for key, value := range read.Content {
			if application.FileName(key) {
				content.Files[key] = string(value)
			}
		}
		given[g.ID] = content
	}
	return given, nil
}

// take puts what was read into the view, unless another revision is wanted meanwhile,
// and plans another attempt if something is missing. The caller applies.
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
	pause := conversation.RetryAfter(a.unread)
	if failed != nil {
		glog.Warningf("%v; again in %s", failed, pause)
	}
	a.reread = time.AfterFunc(pause, a.readAgain)
}

// readAgain asks for what is still not read.
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
