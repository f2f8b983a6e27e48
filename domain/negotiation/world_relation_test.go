package negotiation_test

import "gitlab.ilabt.imec.be/tengu/orcon/domain/relation"

// relate creates a relation's object, with its id and without the rest of its state. An id that is not
// counted is refused.
func (w *world) relate(p relation.Pair, uid string, declared bool, id int) {
	if _, there := w.relations[p.Name()]; there || id > w.lastRelation {
		return
	}
	w.uids++ // the next seed is another
	if id != 0 && w.owners[id] == "" {
		w.owners[id] = uid
	}
	r := relation.Relation{
		Key: p.Key, Name: p.Name(), UID: uid, Object: "object-" + w.uid(), Interface: p.Interface, Version: p.Version,
		Declared: declared, Created: w.now, State: relation.State{ID: id},
	}
	if id != 0 {
		r.State.Began = w.now
	}
	w.relations[p.Name()] = kept{r, declared}
}

func (w *world) setState(name string, s relation.State) {
	r, there := w.relations[name]
	if !there {
		return
	}
	r.State = stored(s)
	w.relations[name] = r
	w.owns(r.Relation)
}

// owns notes which relation has been given an id.
func (w *world) owns(r relation.Relation) {
	if r.State.ID != 0 && w.owners[r.State.ID] == "" {
		w.owners[r.State.ID] = r.UID
	}
}

// update writes a relation that exists: what cannot be computed again and the rest, or, where it takes over an identity, the
// other way round.
func (w *world) update(d relation.Relation) []func() {
	still := func() (kept, bool) {
		r, there := w.relations[d.Name]
		return r, there && r.Object == d.Object && (r.UID == d.UID || r.State.ID == 0) && d.State.ID <= w.lastRelation
	}
	identify := func() {
		if r, is := still(); is {
			if d.State.ID > 0 {
				r.UID = d.UID
			}
			r.State.ID, r.State.ProviderUID, r.finalizer = d.State.ID, d.State.ProviderUID, r.finalizer || r.Deleted.IsZero()
			r.State.Began = d.State.Began
			w.relations[d.Name] = r
			w.owns(r.Relation)
		}
	}
	rest := func() {
		if r, is := still(); is {
			s := d.State
			s.ID, s.ProviderUID, s.Began = r.State.ID, r.State.ProviderUID, r.State.Began
			w.setState(d.Name, s)
		}
	}
	if w.relations[d.Name].UID != d.UID {
		return []func(){rest, identify}
	}
	return []func(){identify, rest}
}

// remove asks for a relation's deletion: one without our finalizer is gone.
func (w *world) remove(name, uid string) {
	r, there := w.relations[name]
	switch {
	case !there || r.UID != uid:
	case !r.finalizer:
		delete(w.relations, name)
	case r.Deleted.IsZero():
		r.Deleted = w.now
		w.relations[name] = r
	}
}
