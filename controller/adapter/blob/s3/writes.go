package s3

import (
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// writes are those under way, one at a time of each key, so that two of one key do not overtake each other. Those of another key
// wait for none of them.
type writes struct {
	mutex sync.Mutex
	of    map[blob.Key]*write
}

// write is held by a write of one key. Users is how many hold it or wait for it.
type write struct {
	sync.Mutex

	users int
}

// begin waits until no other write of a key is under way, and returns what ends this one.
func (w *writes) begin(key blob.Key) (end func()) {
	one := w.join(key)
	one.Lock()
	return func() {
		one.Unlock()
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if one.users--; one.users == 0 {
			delete(w.of, key)
		}
	}
}

// join returns what writes of a key hold, with one user more.
func (w *writes) join(key blob.Key) *write {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.of == nil {
		w.of = map[blob.Key]*write{}
	}
	if w.of[key] == nil {
		w.of[key] = &write{}
	}
	w.of[key].users++
	return w.of[key]
}
