package conversation

import "gitlab.ilabt.imec.be/tengu/orcon/domain/databag"

// Bags finds the contents of bags by their references. It is a port because agents keep large contents in files.
//
// An unknown content reads as an empty one, since a view or a snapshot has the content of each reference in
// it. The reference itself tells whether a content is kept and may be read.
type Bags interface {
	// Bag returns a content, which must not be changed: an empty one if it is unknown.
	Bag(ref databag.Ref) Bag
}

// BagMap holds contents of bags in memory.
type BagMap map[databag.Ref]Bag

// Put adds a content, which must not change any more, and returns the reference to it.
func (m BagMap) Put(bag Bag) databag.Ref {
	ref := databag.RefTo(bag)
	if !ref.Empty() {
		m[ref] = bag
	}
	return ref
}

// Bag returns the content of a reference.
func (m BagMap) Bag(ref databag.Ref) Bag { return m[ref] }

// Over returns the bags that have these contents and those of others, which may be nil.
func (m BagMap) Over(others Bags) Bags { return layers{m, others} }

// layers are contents over the bags below them.
type layers struct {
	top   BagMap
	below Bags
}

// Bag returns the content of a reference.
func (l layers) Bag(ref databag.Ref) Bag {
	if bag, there := l.top[ref]; there || l.below == nil {
		return bag
	}
	return l.below.Bag(ref)
}

// either has the contents that one or the other of two Bags has.
type either [2]Bags

// Bag returns a content; that of the first if both have it.
func (e either) Bag(ref databag.Ref) Bag {
	if bag := contentIn(e[0], ref); bag != nil {
		return bag
	}
	return contentIn(e[1], ref)
}

// Bag returns a content that the snapshot refers to.
func (s *Snapshot) Bag(ref databag.Ref) Bag { return contentIn(s.Bags, ref) }

// Bag returns a content that the view refers to.
func (v View) Bag(ref databag.Ref) Bag { return contentIn(v.Bags, ref) }

// contentIn returns a content of bags, which are nil where no reference needs any.
func contentIn(bags Bags, ref databag.Ref) Bag {
	if bags == nil {
		return nil
	}
	return bags.Bag(ref)
}
