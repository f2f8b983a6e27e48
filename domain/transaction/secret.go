package transaction

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// secret returns the next request that applies the writes about one secret, which is known; nil when
// they are applied.
func (d delivery) secret(writes []secret.Write) (Request, error) {
	first := writes[0]
	k := d.stored.secrets[first.ID]
	switch {
	case k.Transaction == d.ID:
		return nil, nil
	case first.Kind == secret.Add && secret.IsTombstone(k.Secret) && d.delivered():
		return nil, nil // another process made it, and its owner has removed it since
	case first.Kind == secret.Add && (k.There || secret.IsTombstone(k.Secret)):
		return nil, &conversation.Error{
			Kind: conversation.Invalid, Message: "cannot make secret " + first.ID + ": that ID is taken", Cure: "make another",
		}
	case !k.There && first.Kind != secret.Add:
		return nil, fmt.Errorf("cannot write secret %s: %w", first.ID, secret.Unknown(first.ID))
	case k.There && k.Owner.Unit == "" && k.Term > d.Term:
		return nil, fmt.Errorf("cannot write secret %s: %w", first.ID, ErrDeposed)
	}
	after, apply := k.Secret, secret.Apply
	if d.delivered() {
		apply = secret.Deliver
	}
	for _, w := range writes {
		var err error
		if after, err = apply(after, w, d.author(), d.now); err != nil {
			return nil, fmt.Errorf("cannot write secret %s: %w", first.ID, err)
		}
	}
	if !k.There && after.Ended() {
		return nil, nil // the transaction removes what it adds
	}
	if after.Ended() {
		after = secret.Removed(k.Secret, d.now)
	}
	request := WriteSecret{
		ID: first.ID, Secret: after, Term: k.Term, Transaction: d.ID, Unreachable: secret.Unreachable(k.Secret, writes, after),
	}
	if after.Owner.Unit == "" {
		request.Term = d.Term
	}
	return request, nil
}

// delivered reports whether the commit is delivered from an outbox, so that its writes have been admitted.
func (d delivery) delivered() bool { return d.ID != "" && d.stored.outbox.ID == d.ID }
