package cluster

import (
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Withheld is what a read-only look at a cluster could not find out.
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

func (w *World) note(f func(*Withheld)) {
	w.withheld.mu.Lock()
	defer w.withheld.mu.Unlock()
	f(&w.withheld.all)
}

// withhold reports whether a read-only world goes on although an object may not be read.
func (w *World) withhold(id bundle.ID, err error) bool {
	if !w.ReadOnly || !apierrors.IsForbidden(err) {
		return false
	}
	w.note(func(all *Withheld) { all.Unread = append(all.Unread, id) })
	return true
}

// estimate compares an object field by field, if a read-only world may not try it by a dry run.
func (w *World) estimate(q question, live bundle.Object, err error) (changes []bundle.Change, ok bool) {
	if !w.ReadOnly || !apierrors.IsForbidden(err) {
		return nil, false
	}
	w.note(func(all *Withheld) { all.Estimated = append(all.Estimated, q.id) })
	return bundle.Expected(live, q.want), true
}
