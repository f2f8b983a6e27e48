package serve

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/piece"
)

const (
	// maxWhole is the largest message that an agent accepts, in bytes.
	maxWhole = 16 << 20
	// maxText is how much of a databag one piece has, in bytes.
	maxText = 32 << 10
)

// errOutdated reports that a snapshot has more bytes than an agent that does not accept pieces reads at once.
var errOutdated = errors.New("replace the pod, so that it gets a newer agent")

// pieces sends snapshots over one stream (TRUST.md U2).
type pieces struct {
	// accepted is set if the agent accepts pieces; else it gets one message.
	accepted bool
	// sent is how many bytes of snapshots and databags were sent.
	sent   int
	sender piece.Sender
}

// largest returns the size of the message that has the snapshot, in bytes.
func (p *pieces) largest(snapshot *v1alpha1.Snapshot, bags domain.Bags) int {
	if !p.accepted {
		snapshot = filled(snapshot, bags)
	}
	return proto.Size(snapshot)
}

// sendIn sends a snapshot as send does, a large message once there is room for it.
func (p *pieces) sendIn(
	ctx context.Context, r *rooms, id identity.Identity, stream sender, snapshot *v1alpha1.Snapshot, bags domain.Bags,
) error {
	bytes := p.largest(snapshot, bags)
	p.sent += bytes
	if bytes > smallMessage {
		leave, err := r.enter(ctx, id, false, int64(bytes))
		if err != nil {
			return err
		}
		defer leave()
	}
	return p.send(stream, snapshot, bags)
}

// send sends a snapshot, which has the versions of databags, after the contents that the agent lacks.
func (p *pieces) send(stream sender, snapshot *v1alpha1.Snapshot, bags domain.Bags) error {
	if !p.accepted {
		snapshot, err := whole(snapshot, bags)
		if err != nil {
			return err
		}
		return stream.Send(&v1alpha1.ConverseResponse{Snapshot: snapshot})
	}
	var refs []databag.Ref
	for _, bag := range convert.Databags(snapshot) {
		refs = append(refs, convert.RefTo(bag))
	}
	for _, ref := range p.sender.Next(refs) {
		if err := p.sendBag(stream, ref, bags.Bag(ref)); err != nil {
			return err
		}
	}
	return stream.Send(&v1alpha1.ConverseResponse{Snapshot: snapshot})
}

// sendBag sends a databag, whose last piece has its version. Its text is never in memory as a whole.
func (p *pieces) sendBag(stream sender, ref databag.Ref, bag domain.Bag) error {
	var text []byte
	for part := range databag.Parts(bag) {
		for len(part) > 0 {
			if len(text) == maxText {
				if err := stream.Send(&v1alpha1.ConverseResponse{Piece: &v1alpha1.Piece{Text: text}}); err != nil {
					return err
				}
				p.sent += len(text)
				text = text[:0]
			}
			n := min(maxText-len(text), len(part))
			text, part = append(text, part[:n]...), part[n:]
		}
	}
	p.sent += len(text)
	return stream.Send(&v1alpha1.ConverseResponse{Piece: &v1alpha1.Piece{Text: text, Version: ref.Version}})
}

// whole returns a snapshot that has the versions of databags with their contents, as one message. It fails if that is
// larger than what an agent accepts.
func whole(snapshot *v1alpha1.Snapshot, bags domain.Bags) (*v1alpha1.Snapshot, error) {
	snapshot = filled(snapshot, bags)
	if size := proto.Size(snapshot); size > maxWhole {
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("the databags that the pod may read have %d bytes, "+
			"more than the %d that its agent accepts: %w", size, maxWhole, errOutdated))
	}
	return snapshot, nil
}

// filled returns a snapshot with the contents of its databags, which it shares with bags.
func filled(snapshot *v1alpha1.Snapshot, bags domain.Bags) *v1alpha1.Snapshot {
	snapshot = proto.CloneOf(snapshot)
	for _, bag := range convert.Databags(snapshot) {
		if ref := convert.RefTo(bag); !ref.Empty() {
			bag.Data = bags.Bag(ref)
		}
	}
	return snapshot
}
