package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"connectrpc.com/connect"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Commit has the controller store a transaction. A refusal is a
// conversation.Error (RELATIONS.md P4); any other failure may be tried again.
func (c *Client) Commit(ctx context.Context, request *wire.CommitRequest) (*wire.CommitResponse, error) {
	return call(ctx, c, request, relationsv1alpha1connect.RelationsServiceClient.Commit)
}

// Lead asks to lead the application, to go on leading it, or to resign.
func (c *Client) Lead(ctx context.Context, request *wire.LeadRequest) (*wire.LeadResponse, error) {
	return call(ctx, c, request, relationsv1alpha1connect.RelationsServiceClient.Lead)
}

// Leave says that the handlers have handled the end of a relation, or departures.
func (c *Client) Leave(ctx context.Context, request *wire.LeaveRequest) (*wire.LeaveResponse, error) {
	return call(ctx, c, request, relationsv1alpha1connect.RelationsServiceClient.Leave)
}

// GetSecret returns the content of a secret.
func (c *Client) GetSecret(ctx context.Context, request *wire.GetSecretRequest) (*wire.GetSecretResponse, error) {
	return call(ctx, c, request, relationsv1alpha1connect.RelationsServiceClient.GetSecret)
}

// ListSecrets returns the secrets that the unit may manage, without their content.
func (c *Client) ListSecrets(ctx context.Context, request *wire.ListSecretsRequest) (*wire.ListSecretsResponse, error) {
	return call(ctx, c, request, relationsv1alpha1connect.RelationsServiceClient.ListSecrets)
}

// Report says what the handlers of the unit fail at.
func (c *Client) Report(ctx context.Context, request *wire.ReportRequest) (*wire.ReportResponse, error) {
	return call(ctx, c, request, relationsv1alpha1connect.RelationsServiceClient.Report)
}

// SetStatus says, for people, how the unit, its application or its side of a relation
// is.
func (c *Client) SetStatus(ctx context.Context, request *wire.SetStatusRequest) (*wire.SetStatusResponse, error) {
	return call(ctx, c, request, relationsv1alpha1connect.RelationsServiceClient.SetStatus)
}

// GetStatus returns how the unit or its application is.
func (c *Client) GetStatus(ctx context.Context, request *wire.GetStatusRequest) (*wire.GetStatusResponse, error) {
	return call(ctx, c, request, relationsv1alpha1connect.RelationsServiceClient.GetStatus)
}

// call makes one call with the pod's token, on a connection of its own: they are
// rare, and trust and token are then today's.
func call[Q, A any](ctx context.Context, c *Client, request *Q,
	method func(relationsv1alpha1connect.RelationsServiceClient, context.Context, *connect.Request[Q]) (
		*connect.Response[A], error)) (*A, error) {
	token, err := c.token()
	if err != nil {
		return nil, err
	}
	transport, err := c.transport(c.keep)
	if err != nil {
		return nil, err
	}
	defer transport.CloseIdleConnections()
	asked := connect.NewRequest(request)
	asked.Header().Set("Authorization", "Bearer "+token)
	answered, err := method(relationsv1alpha1connect.NewRelationsServiceClient(httpClient(transport), c.Address,
		connect.WithReadMaxBytes(maxMessage)), ctx, asked)
	if err != nil {
		return nil, c.refused(err)
	}
	return answered.Msg, nil
}

// refused turns what the API answers into what tools and handlers know.
func (c *Client) refused(err error) error {
	var answered *connect.Error
	if !errors.As(err, &answered) || !connect.IsWireError(err) {
		return fmt.Errorf("cannot reach the controller at %s: %w", c.Address, plain(err))
	}
	refusal := &conversation.Error{Message: answered.Message()}
	if wait, err := strconv.Atoi(answered.Meta().Get(headerWait)); err == nil && wait > 0 {
		refusal.Kind, refusal.Cure = conversation.NotYet, cmp.Or(answered.Meta().Get(headerCure), "try again later")
		refusal.Wait = time.Duration(wait) * time.Millisecond
		return refusal
	}
	switch answered.Code() {
	case connect.CodePermissionDenied:
		refusal.Kind, refusal.Cure = conversation.Forbidden, "only the leader may; is-leader tells whether this unit is"
	case connect.CodeInvalidArgument:
		refusal.Kind, refusal.Cure = conversation.Invalid, "write less, or something else"
	case connect.CodeNotFound:
		refusal.Kind, refusal.Cure = conversation.Gone, "relation-ids lists the relations that are there"
	case connect.CodeFailedPrecondition:
		refusal.Kind, refusal.Cure = conversation.NotYet, "try again later"
	default:
		return fmt.Errorf("the controller at %s did not: %s; try again", c.Address, answered.Message())
	}
	refusal.Cure = cmp.Or(answered.Meta().Get(headerCure), refusal.Cure)
	return refusal
}

// headerCure is the header of a refusal with its cure, and headerWait with how long it lasts, in milliseconds.
const (
	headerCure = "Orcon-Cure"
	headerWait = "Orcon-Wait"
)
