package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/golang/glog"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Granted is a Secret of somebody's that the other side of a relation grants by
// reference; without an ID there is none (SAFETY.md S1).
type Granted struct {
	ID       string
	Revision int64
}

// Content is what was read of a Secret that is granted, as of a revision. It is in this
// process and in the bindings, which are in memory, and is remembered on no disk.
type Content struct {
	Revision int64
	Files    map[string]string
}

// Unread lists what relations grant and was not read as of that revision, each once.
func (v View) Unread() []Granted {
	var all []Granted
	for _, r := range v.Relations {
		wanted := r.Granted.ID != "" && r.Present && !r.Ended && !r.Suspended
		if held, read := v.Contents[r.Granted.ID]; wanted && (!read || held.Revision != r.Granted.Revision) && !slices.Contains(all, r.Granted) {
			all = append(all, r.Granted)
		}
	}
	return all
}

// read reports whether all that a relation shows is known: what it grants too.
func (v View) read(r Relation) bool {
	_, read := v.Contents[r.Granted.ID]
	return read || r.Granted.ID == ""
}

// allRead reports whether nothing is missing of what is granted.
func (v View) allRead() bool {
	return !slices.ContainsFunc(v.Relations, func(r Relation) bool { return !r.Ended && !v.read(r) })
}

// refers reports whether a value of the relation's bag is the reference to what it
// grants, which is of use for tools alone.
func (r Relation) refers(value string) bool {
	return r.Granted.ID != "" && value == secret.Reference(r.Granted.ID)
}

// keepContents keeps what was read as long as a relation grants it.
func (v *View) keepContents(held map[string]Content) {
	v.Contents = nil
	for _, r := range v.Relations {
		content, read := held[r.Granted.ID]
		if !read || r.Ended {
			continue
		}
		if v.Contents == nil {
			v.Contents = map[string]Content{}
		}
		v.Contents[r.Granted.ID] = content
	}
}

// readGranted asks for what is granted, and returns what it was given.
func (a *Agent) readGranted(wanted []Granted) (map[string]Content, error) {
	given := map[string]Content{}
	for _, g := range wanted {
		response, err := a.speech.getSecret(context.Background(), &wire.GetSecretRequest{Id: g.ID})
		if err != nil {
			return given, fmt.Errorf("cannot read what is granted: %w", err)
		}
		content := Content{Revision: g.Revision, Files: make(map[string]string, len(response.GetContent()))}
		for key, value := range response.GetContent() {
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
