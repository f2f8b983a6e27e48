package cluster

import (
	"slices"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Withheld lists the objects that a read-only look at a cluster could not read.
type Withheld struct {
	// Unread are objects that the account may not read, Estimated those that were compared
	// without a dry run, by name.
	Unread, Estimated []bundle.ID
	// Lacking are the permissions that carrying out a plan needs; nil for none.
	Lacking error
}

// withheld collects a Withheld from requests at the same time.
type withheld struct {
	mu  sync.Mutex
	all Withheld
}

// Withheld returns what the looks of a read-only world could not find out.
func (w *World) Withheld() Withheld {
	w.withheld.mu.Lock()
	defer w.withheld.mu.Unlock()
	all := w.withheld.all
	for _, ids := range []*[]bundle.ID{&all.Unread, &all.Estimated} {
		*ids = slices.SortedFunc(slices.Values(*ids), bundle.ID.Compare)
		*ids = slices.Compact(*ids)
	}
	return all
}

func (h *withheld) unread(id bundle.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all.Unread = append(h.all.Unread, id)
}

func (h *withheld) estimated(id bundle.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all.Estimated = append(h.all.Estimated, id)
}

func (h *withheld) lacks(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all.Lacking = err
}
