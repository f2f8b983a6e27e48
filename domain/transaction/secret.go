package transaction

import (
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// anySecret returns the next request for the secrets. whole is not set where one
// of them was dropped: then no bag may refer to it.
func (d delivery) anySecret() (request Request, whole bool, err error) {
	whole = true
	for _, writes := range d.bySecret() {
		request, err := d.secret(writes)
		last := writes[len(writes)-1]
		switch {
		case conversation.RefusalOf(err) == conversation.Gone && last.Kind == secret.Remove && last.Revision == 0:
			// Another process removed it as part of the same transaction.
		case errors.Is(err, ErrDeposed) || conversation.RefusalOf(err) != "":
			whole = false
		case err != nil:
			return nil, false, err
		case request != nil:
			return d.confirmed(request, d.stored.secrets[writes[0].ID].at), true, nil
		}
	}
	return nil, whole, nil
}

// secret returns the next request that applies the writes about one secret, which is known; nil when
// they are applied.
func (d delivery) secret(writes []secret.Write) (Request, error) {
	first := writes[0]
	k := d.stored.secrets[first.ID]
	switch {
	case k.Transaction == d.ID:
		return nil, nil
	case k.There && first.Kind == secret.Add:
		return nil, &conversation.Error{
			Kind: conversation.Invalid, Message: "cannot make secret " + first.ID + ": there is one", Cure: "make another",
		}
	case !k.There && first.Kind != secret.Add:
		return nil, fmt.Errorf("cannot write secret %s: %w", first.ID, secret.Unknown(first.ID))
	case k.There && k.Owner.Unit == "" && k.Term > d.Term:
		return nil, fmt.Errorf("cannot write secret %s: %w", first.ID, ErrDeposed)
	}
	after := k.Secret
	for _, w := range writes {
		var err error
		if after, err = secret.Apply(after, w, d.author(), d.now); err != nil {
			return nil, fmt.Errorf("cannot write secret %s: %w", first.ID, err)
		}
	}
	if !k.There && after.Ended() {
		return nil, nil // the transaction removes what it adds
	}
	request := WriteSecret{
		ID: first.ID, Secret: after, Term: k.Term, Transaction: d.ID, Unreachable: secret.Unreachable(k.Secret, writes, after),
	}
	if after.Owner.Unit == "" {
		request.Term = d.Term
	}
	return request, nil
}
