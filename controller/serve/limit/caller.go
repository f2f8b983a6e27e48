package limit

import (
	"context"
	"errors"
	"strconv"

	"connectrpc.com/connect"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// HeaderCure is the header of a refusal with its cure, and HeaderWait with how long it lasts, in milliseconds.
const (
	HeaderCure = "Orcon-Cure"
	HeaderWait = "Orcon-Wait"
)

type provenKey struct{}

// Prove returns the context of a request that was proven to be of a pod.
func Prove(ctx context.Context, id identity.Identity) context.Context {
	return context.WithValue(ctx, provenKey{}, id)
}

// Proven returns the pod that the request was proven for.
func Proven(ctx context.Context) identity.Identity {
	id, _ := ctx.Value(provenKey{}).(identity.Identity)
	return id
}

// Refuse maps a refusal to an answer of the API: a code for each kind (RELATIONS.md P4). Another error gets the code
// that is given for it, and an answer stays as it is.
func Refuse(err error, other connect.Code) error {
	if answered, ok := errors.AsType[*connect.Error](err); ok {
		return answered
	}
	refused, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return connect.NewError(other, err)
	}
	code := map[domain.Refusal]connect.Code{
		domain.Forbidden: connect.CodePermissionDenied, domain.Invalid: connect.CodeInvalidArgument,
		domain.Gone: connect.CodeNotFound, domain.NotYet: connect.CodeFailedPrecondition,
	}[refused.Kind]
	wait := domain.DelayOf(err)
	if wait > 0 {
		code = connect.CodeResourceExhausted
	}
	answer := connect.NewError(code, errors.New(refused.Message))
	if wait > 0 {
		answer.Meta().Set(HeaderWait, strconv.FormatInt(wait.Milliseconds(), 10))
	}
	answer.Meta().Set(HeaderCure, refused.Cure)
	return answer
}
