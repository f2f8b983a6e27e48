package stream

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
)

// Commit has the controller store a transaction. The error carries the code that
// the API gave, see the service's Commit.
func (c *Client) Commit(ctx context.Context, request *wire.CommitRequest) (*wire.CommitResponse, error) {
	return call(ctx, c, request, relationsv1alpha1connect.RelationsServiceClient.Commit)
}

// Lead asks to lead the application, to go on leading it, or to resign.
func (c *Client) Lead(ctx context.Context, request *wire.LeadRequest) (*wire.LeadResponse, error) {
	return call(ctx, c, request, relationsv1alpha1connect.RelationsServiceClient.Lead)
}

// call makes one call with the pod's token, on a connection of its own: they are
// rare, and trust and token are then today's.
func call[Q, A any](ctx context.Context, c *Client, request *Q, method func(relationsv1alpha1connect.RelationsServiceClient, context.Context, *connect.Request[Q]) (*connect.Response[A], error)) (*A, error) {
	token, err := c.token()
	if err != nil {
		return nil, err
	}
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	defer transport.CloseIdleConnections()
	asked := connect.NewRequest(request)
	asked.Header().Set("Authorization", "Bearer "+token)
	answered, err := method(relationsv1alpha1connect.NewRelationsServiceClient(httpClient(transport), c.Address, connect.WithReadMaxBytes(maxSnapshot)), ctx, asked)
	if err != nil && connect.IsWireError(err) {
		return nil, err // the controller's own words
	}
	if err != nil {
		return nil, fmt.Errorf("cannot reach the controller at %s: %w", c.Address, plain(err))
	}
	return answered.Msg, nil
}
