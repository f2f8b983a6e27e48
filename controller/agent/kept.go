package agent

import (
	"fmt"
	"slices"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/spool"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/piece"
)

// kept finds contents of databags that the spool keeps, which it does for as long as they are in one.
type kept map[databag.Ref]*spool.Content

// Bag returns the content of a reference, which may be read from a file.
func (k kept) Bag(ref databag.Ref) conversation.Bag {
	if content := k[ref]; content != nil {
		return content.Bag()
	}
	return nil
}

// under returns bags that have the contents of others and, where those have none, these.
func (k kept) under(others conversation.Bags) conversation.Bags { return both{others, k} }

// both are bags over others.
type both struct {
	top   conversation.Bags
	below kept
}

// Bag returns the content of a reference.
func (b both) Bag(ref databag.Ref) conversation.Bag {
	if b.top != nil {
		if bag := b.top.Bag(ref); bag != nil {
			return bag
		}
	}
	return b.below.Bag(ref)
}

// retaining returns the contents that the files and variables show: these, and older ones of relations that an update
// did not have.
func (k kept) retaining(v Projection, older kept) kept {
	all := kept{}
	for _, r := range v.View.Relations {
		content := k[r.RemoteBag]
		if content == nil {
			content = older[r.RemoteBag]
		}
		if content != nil {
			all[r.RemoteBag] = content
		}
	}
	return all
}

// inMemory finds the contents that are not in files.
type inMemory kept

// Bag returns the content of a reference, nil if it is in a file.
func (k inMemory) Bag(ref databag.Ref) conversation.Bag {
	if content := k[ref]; content != nil && !content.InFile() {
		return content.Bag()
	}
	return nil
}

// databags are those that the agent has received and uses.
type databags struct {
	spool *spool.Spool
	// pieces and incoming are of the snapshot that comes next. The stream alone has access.
	pieces   piece.Receiver[*spool.Content]
	incoming spool.Incoming
	// shown are those of the projection.
	shown kept
	// torn has all relations of the memory, in order, if the content of one was lost: until the controller has answered.
	torn []conversation.Relation
}

// lost reports whether the content of a living relation was lost.
func (d *databags) lost(r conversation.Relation) bool {
	return !ended(r) && !r.RemoteBag.Empty() && d.shown[r.RemoteBag] == nil
}

// whole returns what is known with the relations whose content was lost, so that they keep their places in the order.
func (d *databags) whole(v Projection) Projection {
	if d.torn != nil {
		v.View.Relations = d.torn
	}
	return v
}

// keep returns a plan by which the directories of relations whose content was lost stay as they are.
func (d *databags) keep(plan Plan, v Projection) Plan {
	for name := range hidden(d.whole(v), d.lost) {
		delete(plan.Write, name)
		plan.Keep[name] = true
	}
	return plan
}

// known returns the relations of a view without what was lost: one that the latest snapshot has without data has none.
func (d *databags) known(v Projection) []conversation.Relation {
	var all []conversation.Relation
	for _, r := range v.View.Relations {
		switch {
		case !d.lost(r):
			all = append(all, r)
		case v.Present[key(r)]:
			r.RemoteBag = databag.Ref{}
			all = append(all, r)
		}
	}
	return all
}

// reset drops what a stream that has ended has left.
func (d *databags) reset() {
	d.incoming.Discard()
	d.pieces = piece.Receiver[*spool.Content]{}
}

// receive keeps a part of a databag of the snapshot that comes next.
func (d *databags) receive(part *wire.Piece) error {
	content, err := d.spool.Receive(&d.incoming, part.GetText(), part.GetVersion())
	if content != nil {
		d.pieces.Receive(databag.Ref{Version: part.GetVersion()}, content)
	}
	return err
}

// complete returns the contents that a snapshot refers to, those included that came with it, as from older controllers.
func (d *databags) complete(snapshot *wire.Snapshot) (kept, error) {
	var refs []databag.Ref
	for _, bag := range convert.Databags(snapshot) {
		ref := convert.RefTo(bag)
		if len(bag.GetData()) > 0 {
			content, err := d.spool.Keep(ref, bag.GetData())
			if err != nil {
				return nil, err
			}
			d.pieces.Receive(ref, content)
		}
		refs = append(refs, ref)
	}
	return d.pieces.Complete(refs)
}

// recall keeps a databag of a memory, whose content is in the memory or in a file.
func (d *databags) recall(bag *wire.Databag) error {
	ref := convert.RefTo(bag)
	switch {
	case len(bag.GetData()) > 0:
		content, err := d.spool.Keep(ref, bag.GetData())
		if err != nil {
			return err
		}
		d.shown[ref] = content
	case !ref.Empty():
		content, is := d.spool.Recall(ref)
		if !is {
			return fmt.Errorf("cannot recall the databag with version %s: its file is torn or gone", ref.Version)
		}
		d.shown[ref] = content
	}
	return nil
}

// remember stores what outlives the process. Contents in files do so by themselves.
func (a *Agent) remember() error {
	if !a.view.Heard {
		return nil
	}
	known := a.view.Update
	known.View.Bags = inMemory(a.bags.shown)
	memory, err := convert.EncodeMemory(known)
	if err != nil {
		return err
	}
	return a.disk.Memory.Replace(memory)
}

// recall reads what the process before this one remembered. A relation whose content was lost or torn is unknown until the
// controller has sent it again; till then its files and the variables stay.
func (a *Agent) recall() error {
	memory, err := a.disk.Memory.Read()
	if err != nil {
		return err
	}
	known, err := convert.ParseMemory(memory)
	if err != nil {
		return err
	}
	for _, bag := range convert.Databags(known) {
		if err := a.bags.recall(bag); err != nil {
			glog.Warningf("%v; waiting for the controller to send it", err)
		}
	}
	a.view = Projection{Update: convert.ToUpdate(known, a.bags.shown)}
	if all := a.view.View.Relations; slices.ContainsFunc(all, a.bags.lost) {
		a.bags.torn, a.view.View.Relations = all, a.bags.known(a.view)
	}
	return nil
}
