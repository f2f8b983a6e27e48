package transaction

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// frame is about how many bytes an object has besides what it holds.
const frame = 2 << 10

// Cost returns how many bytes a prepared commit writes, histories not counted, and what it adds to its application. The
// objects of the commit and its outbox must have been read.
func (c Commit) Cost(s Stored, drafts []secret.Draft) (bytes int, adds budget.Holding) {
	for _, change := range c.Changes {
		b := s.bags[c.Bag(change).Name()]
		after := databag.Overlay(b.Data, change.Set)
		bytes += frame + databag.Encoded(after)
		adds.Bytes += databag.Size(after) - databag.Size(b.Data)
		if !b.There {
			adds.Bags++
		}
	}
	for _, draft := range drafts {
		bytes += frame
		for key, value := range draft.Content {
			bytes += len(key) + len(value)*4/3 // as base64
		}
		if draft.Kind == secret.Add {
			adds.Secrets++
		}
	}
	if c.Posts(len(drafts)) {
		bytes += 2*frame + c.encoded() // written and emptied
		if !s.outbox.There {
			adds.Outboxes++
		}
	}
	return bytes, adds
}

// Posts reports whether a commit with that many writes of secrets goes by the outbox, which one object alone does not.
func (c Commit) Posts(secrets int) bool { return len(c.Changes)+secrets > 1 }

// encoded is how many bytes the changes have in an outbox.
func (c Commit) encoded() int {
	size := 0
	for _, change := range c.Changes {
		size += databag.Encoded(change.Set)
	}
	return size
}

// checkOutbox refuses a commit of several objects whose outbox Kubernetes would not store.
func (c Commit) checkOutbox() error {
	if encoded := c.encoded(); len(c.Changes) > 1 && encoded > databag.MaxEncoded {
		return fmt.Errorf("%w: the databags of one transaction get at most %d bytes as Kubernetes encodes them, these get %d",
			ErrInvalid, databag.MaxEncoded, encoded)
	}
	return nil
}

// writeFrame is about how many bytes a write about a secret has in an outbox, besides its label and description.
const writeFrame = 512

// checkWhole refuses a commit whose outbox Kubernetes would not store, what it writes about secrets included.
func checkWhole(c Commit) error {
	size := c.encoded()
	for _, w := range c.Secrets {
		size += writeFrame + databag.EncodedText(w.Label) + databag.EncodedText(w.Description)
	}
	if size > databag.MaxEncoded {
		return fmt.Errorf("%w: a transaction has at most %d bytes as Kubernetes encodes it, this one has %d",
			ErrInvalid, databag.MaxEncoded, size)
	}
	return nil
}
