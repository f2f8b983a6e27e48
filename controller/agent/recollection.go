package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/spool"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// recollection holds the events that handlers have received. It outlives the process.
type recollection struct {
	conversation.Memory

	file  File
	spool *spool.Spool
	// seen are the databags to which later ones are compared.
	seen kept
	// unsaved is set while the file has an earlier memory, since the last attempt to save failed.
	unsaved bool
}

// recall reads what the last process has saved.
func (r *recollection) recall() error {
	text, err := r.file.Read()
	if err != nil || len(text) == 0 {
		return err
	}
	told, err := conversation.ParseMemory(text)
	if err == nil {
		r.set(told)
	}
	return err
}

// set replaces the memory and keeps the databags to which later ones are compared, also for the next process. If one is lost,
// its keys count as changed.
func (r *recollection) set(told conversation.Memory) {
	seen := kept{}
	for _, ref := range told.Contents() {
		content := r.seen[ref]
		if content == nil {
			content, _ = r.spool.Recall(ref)
		}
		if content == nil {
			continue
		}
		seen[ref] = content
		if err := r.spool.Store(content); err != nil {
			glog.V(1).Infof("%v; all its keys count as changed if this container restarts", err)
		}
	}
	r.Memory, r.seen = told, seen
}

// again saves what could not be saved, and returns the time until the next attempt.
func (r *recollection) again() time.Duration {
	if r.unsaved && r.save() != nil {
		return reportAgain
	}
	return untilChange
}

// save keeps the memory over a restart.
func (r *recollection) save() error {
	text, err := json.Marshal(r.Memory)
	if err == nil {
		err = r.file.Replace(text)
	}
	r.unsaved = err != nil
	if err != nil {
		return fmt.Errorf("cannot save which events were handled: %w", err)
	}
	return nil
}
