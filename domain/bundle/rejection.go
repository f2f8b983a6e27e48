package bundle

import (
	"slices"
	"time"
)

// Rejection is a write that the API server does not take.
type Rejection struct {
	ID ID
	// Why is the server's last answer, in words.
	Why string
	// Since is when the first of them came, in whole seconds.
	Since time.Time
}

// Rejections are in the order of their ids. Their methods leave them as they are.
type Rejections []Rejection

// Of returns the rejection of an object's last write; false where it was taken.
func (r Rejections) Of(id ID) (Rejection, bool) {
	i := slices.IndexFunc(r, func(f Rejection) bool { return f.ID == id })
	if i < 0 {
		return Rejection{}, false
	}
	return r[i], true
}

// Note returns the rejections after the answers to writes. The time of a rejection runs from its
// first answer until the write is taken.
func (r Rejections) Note(taken []ID, rejected map[ID]error, now time.Time) Rejections {
	all := slices.DeleteFunc(slices.Clone(r), func(f Rejection) bool { return slices.Contains(taken, f.ID) })
	for id, err := range rejected {
		i := slices.IndexFunc(all, func(f Rejection) bool { return f.ID == id })
		if i < 0 {
			i = len(all)
			all = append(all, Rejection{ID: id, Since: second(now)})
		}
		all[i].Why = err.Error()
	}
	slices.SortFunc(all, func(a, b Rejection) int { return a.ID.Compare(b.ID) })
	return all
}
