package secret

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Unknown returns the error for a missing secret: the same whether it was removed, never was, or is another
// namespace's (SAFETY.md M7).
func Unknown(name string) error {
	return &conversation.Error{
		Kind: conversation.Gone, Message: fmt.Sprintf("cannot find secret %.80q: it was removed, or there is none of that name here", name),
		Cure: "secret-ids lists those of this unit; one that was granted is named in its relation",
	}
}

// NotGranted returns the error for a user's Secret that an application does not grant now, for any reason: the caller
// may not learn whether it exists (SAFETY.md M7).
func NotGranted(id, application string) error {
	return &conversation.Error{
		Kind: conversation.NotYet, Message: fmt.Sprintf("cannot read secret %s: %s does not grant it now", id, application),
		Cure: "the condition GrantRefused of RelatedApplication " + application + " says what is missing",
	}
}

// NoLabel refuses a label for a user's Secret: its readers are recorded nowhere.
func NoLabel(id string) error {
	return invalid("read it by its ID", "cannot label secret %s: it is granted by reference", id)
}

func invalid(cure, message string, args ...any) error {
	return &conversation.Error{Kind: conversation.Invalid, Message: fmt.Sprintf(message, args...), Cure: cure}
}

func gone(cure, message string, args ...any) error {
	return &conversation.Error{Kind: conversation.Gone, Message: fmt.Sprintf(message, args...), Cure: cure}
}

// MayManage returns why a unit may not change, grant or remove the secret, or nil (RELATIONS.md P4). Only Unknown
// hides a secret's existence: a unit that knows an id was given it.
func (s Secret) MayManage(u Unit) error {
	switch {
	case s.Owner.Application != u.Application:
		return &conversation.Error{Kind: conversation.Forbidden,
			Message: "cannot change secret " + s.ID + ": it is another application's", Cure: "only its owner may"}
	case s.Owner.Unit == "" && !u.Leads:
		return &conversation.Error{Kind: conversation.Forbidden,
			Message: "cannot change secret " + s.ID + ": it is the application's, and " + u.String() + " does not lead it",
			Cure:    "only the leader of " + u.Application + " may: see is-leader"}
	case s.Owner.Unit != "" && s.Owner.Unit != u.Number:
		return &conversation.Error{Kind: conversation.Forbidden, Message: "cannot change secret " + s.ID,
			Cure: "only " + s.Owner.String() + " may"}
	default:
		return nil
	}
}
