package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/spool"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Bindings holds the directories of relations.
type Bindings interface {
	// Write makes a directory hold exactly files, all at once.
	Write(name string, files map[string]string) error
	// Read returns the files of a directory; nil if there is none.
	Read(name string) (map[string]string, error)
	// Remove deletes a directory, if it exists.
	Remove(name string) error
	// Names lists the directories.
	Names() ([]string, error)
}

// File is a file that is replaced whole.
type File interface {
	// Replace makes content the file's content, all at once.
	Replace(content []byte) error
	// Read returns the content, nil if there is none.
	Read() ([]byte, error)
	// Exists reports whether there is such a file.
	Exists() bool
}

// Disk holds all files that the agent writes.
type Disk struct {
	// Bindings are the files of the pod's containers.
	Bindings Bindings
	// Env has the variables that the kubelet reads.
	Env File
	// Opened exists once the gate is open; it outlives the container.
	Opened File
	// Memory has the projection in use; it outlives a reboot of the node.
	Memory File
	// EverOpened exists once the gate is open; it outlives a reboot of the node.
	EverOpened File
	// Told has the memory of handled events, on disk too.
	Told File
	// Spool has contents of databags.
	Spool *spool.Spool
	// Signalled has the version of the files that containers last received a signal for, on disk too.
	Signalled File
	// Copy reads the copy of the application's data, which the kubelet writes.
	Copy func() ([]byte, error)
}

// optionalGrace is how long a gate without requirements waits for a first snapshot, so that optional data
// is in the variables.
const optionalGrace = time.Second

// Agent carries out the decisions of this package.
type Agent struct {
	settings Settings
	disk     Disk
	gate     chan struct{}
	speech   *Speech
	handlers *Handlers // nil where the pod has none
	signals  *signals  // nil where the pod wants none

	bags    databags
	folders folders

	mu      sync.Mutex
	view    Projection
	standby standby
	ready   bool // the gate may open: heard, or waited long enough
	env     envFile
	retry   *time.Timer
	reread  *time.Timer // what is granted and could not be read
	unread  int         // attempts to read it that failed in a row
	reset   bool        // this connection has shown an earlier state of the store
	report  report
}

// New returns an agent that has not started.
func New(settings Settings, disk Disk, speaker Speaker, processes Processes) *Agent {
	a := &Agent{
		settings: settings, disk: disk, speech: NewSpeech(speaker),
		gate:   make(chan struct{}),
		bags:   databags{spool: disk.Spool, shown: kept{}},
		env:    envFile{file: disk.Env},
		report: report{started: time.Now()},
	}
	a.standby.agent = a
	a.folders = folders{bindings: disk.Bindings, report: &a.report, written: map[string]folder{}}
	if settings.OnChange.Post.Port != 0 || slices.Contains(settings.Tools, injection.HandlerContainer) {
		a.handlers = NewHandlers(a.speech, settings, disk)
	}
	if settings.OnChange.Signal != "" {
		a.signals = newSignals(settings.OnChange.Signal, processes, disk)
	}
	return a
}

// Start recalls the memory of the process before this one and writes the files accordingly. A gate that was
// open opens at once: an outage does not close it (SAFETY.md I19). After a reboot of the node it waits for what has gone
// with the files.
func (a *Agent) Start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.recall(); err != nil {
		glog.Errorf("%v; going on without it", err)
	}
	if err := a.disk.Spool.Clean(); err != nil {
		glog.Warningf("%v", err)
	}
	a.env.recall()
	a.standby.begin()
	a.apply()
	var unmarked error
	switch {
	case a.disk.Opened.Exists():
		unmarked = a.open()
	case a.disk.EverOpened.Exists() && a.standby.rebuilt():
		unmarked = errors.Join(a.disk.Opened.Replace(nil), a.open())
	case len(a.view.Unmet(a.settings.Consumes)) == 0:
		time.AfterFunc(optionalGrace, func() { // the gate waits for nothing
			a.mu.Lock()
			defer a.mu.Unlock()
			a.ready = true
			a.apply()
		})
	}
	if unmarked != nil {
		glog.Errorf("cannot mark the gate as open: %v", unmarked)
	}
}

// Speech returns the conversation of the unit.
func (a *Agent) Speech() *Speech { return a.speech }

// Opened is closed when the gate is open.
func (a *Agent) Opened() <-chan struct{} { return a.gate }

// Heard acts on a snapshot, unless it is older than the one in use (SAFETY.md V4) and the store was not restored (TRUST.md
// T6). Secrets that are newly granted are read first, so that all of a change is in the files at once. It fails without the
// contents that the snapshot refers to (TRUST.md U2).
func (a *Agent) Heard(snapshot *wire.Snapshot) error {
	bags, err := a.bags.complete(snapshot)
	if err != nil {
		return err
	}
	heard := convert.ToUpdate(snapshot, bags)
	given, failed := a.readGranted(a.anew(heard))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.unkept = unkept{}
	before := a.bags.whole(a.view)
	if wentBack(a.view, heard, a.reset) {
		a.reset = a.reset || heard.Reset
		heard.Reset = true
		a.report.reset(a.view.Revisions, heard.Revisions)
		if a.handlers != nil { // first: an agent that is killed meanwhile does the same again
			restored := heard.View.For(heard.Own)
			a.handlers.drop(&restored)
		}
		before = rewind(before, heard)
	}
	if kind := before.Behind(heard); kind != "" {
		a.report.refuse(kind, a.view.Revisions[kind], heard.Revisions[kind])
		return nil
	}
	a.view = before.Merge(heard)
	a.bags.shown = bags.retaining(a.view, a.bags.shown)
	a.bags.torn, a.view.View.Relations, a.view.View.Bags = nil, a.bags.known(a.view), a.bags.shown
	a.standby.view = Projection{} // the snapshot has replaced it
	a.take(given, failed)
	a.report.applied++
	a.ready = true
	a.apply()
	a.speech.hear(heard) // last: a handler of a change finds it in the files
	if heard.Reset && a.handlers != nil {
		a.handlers.era.begins.Store(false)
		a.handlers.ring()
	}
	return nil
}

// anew lists the Secrets that the agent must read for an update.
func (a *Agent) anew(heard conversation.Update) []conversation.Granted {
	a.mu.Lock()
	defer a.mu.Unlock()
	view := a.view
	if wentBack(a.view, heard, a.reset) {
		view = rewind(view, heard)
	}
	if view.Behind(heard) != "" {
		return nil
	}
	return view.Merge(heard).Unread()
}

// apply writes what the projection holds, and plans another attempt for what failed. Memory comes first: an
// agent that is killed in between finishes the work when it starts again, and never goes back.
func (a *Agent) apply() {
	remembered := a.remember()
	plan, err := a.standby.plan()
	var unwritten error
	if err == nil {
		unwritten, err = a.folders.project(a.standby.shown(), plan), a.writeEnv()
	}
	if err == nil && a.signals != nil && a.folders.adopt(plan) == nil {
		a.signals.tell(a.folders.version())
	}
	if err == nil && (unwritten == nil || a.folders.show(a.settings.Consumes)) {
		err = a.maybeOpen()
	}
	a.settle(errors.Join(remembered, unwritten, err))
}

// writeEnv writes the variables. As long as less is known than the process before knew, they stay as they are.
func (a *Agent) writeEnv() error {
	shown := a.standby.shown()
	switch {
	case a.standby.replaced():
		a.env.before = nil
	case a.env.before != nil && (a.bags.torn != nil || len(shown.View.Relations) == 0):
		return nil
	}
	return a.env.write(shown, a.settings.Variables)
}

// maybeOpen opens the gate when everything it waits for is in the files. What beside has no room there is not waited for. A
// gate that is open already is marked so, if that has failed before.
func (a *Agent) maybeOpen() error {
	if !a.ready || a.isOpen() && !a.standby.used && a.disk.EverOpened.Exists() {
		return nil
	}
	if unmet := a.standby.shown().Unmet(a.settings.Consumes); len(unmet) > 0 {
		if !a.isOpen() {
			a.report.wait(unmet)
		}
		return nil
	}
	if err := a.disk.Opened.Replace(nil); err != nil {
		return fmt.Errorf("cannot open the gate: %w", err)
	}
	return a.open()
}

// open releases all that wait, once and for good. After a reboot of the node, a pod that has started with a copy alone
// waits again. It fails if the disk does not take the mark, without which any pod waits then.
func (a *Agent) open() (unmarked error) {
	if !a.standby.used || a.view.Heard {
		a.standby.used = false
		unmarked = a.disk.EverOpened.Replace(nil)
	}
	if a.isOpen() {
		return unmarked
	}
	a.report.opened = time.Now()
	glog.Infof("the gate is open after %s", a.report.waited())
	close(a.gate)
	return unmarked
}

func (a *Agent) isOpen() bool {
	select {
	case <-a.gate:
		return true
	default:
		return false
	}
}

// settle plans another attempt if something failed: a volume that is full now
// may have room later.
func (a *Agent) settle(err error) {
	if a.retry != nil {
		a.retry.Stop()
		a.retry = nil
	}
	if pause := a.report.settle(err); err != nil {
		a.retry = time.AfterFunc(pause, a.applyAgain)
	}
	if text := a.report.unwritten(); text != "" {
		go reportUnwritten(a.speech, text)
	}
}

// reportUnwritten sends which files cannot be written, so that people see it where they look (TRUST.md U2).
func reportUnwritten(s *Speech, text string) {
	if err := s.report(context.Background(), &wire.ReportRequest{Unwritten: text}); err != nil {
		glog.Warningf("cannot report that files cannot be written: %v", err)
	}
}

func (a *Agent) applyAgain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.apply()
}
