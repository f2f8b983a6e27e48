package stream

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"

	"connectrpc.com/connect"
)

// errSilent ends a conversation in which the first snapshot does not come.
var errSilent = errors.New("the controller accepted the connection and said nothing")

// sentAway reports whether a replica has the agent connect again at once: its caches are older than what the agent has
// used (SAFETY.md V4), or the stream has reached its greatest age (TRUST.md A7).
func sentAway(err error) bool {
	return connect.CodeOf(err) == connect.CodeUnavailable && connect.IsWireError(err)
}

// cause returns why ctx was ended by us, if it was, else err.
func cause(ctx context.Context, err error) error {
	if ours := context.Cause(ctx); ours != nil && !errors.Is(ours, context.Canceled) {
		return ours
	}
	return err
}

// explain words err for the person who reads the pod's log.
func explain(err error, c *Client) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the controller at %s ended the conversation", c.Address)
	case errors.As(err, &unknown):
		return fmt.Errorf("cannot trust the controller at %s: its certificate is signed by none of the authorities in ORCON_TRUST and %s: %w", c.Address, c.TrustFile, err)
	case errors.As(err, &name):
		return fmt.Errorf("cannot trust the controller at %s: its certificate is not for %s: %w", c.Address, c.ServerName, err)
	case sentAway(err):
		return fmt.Errorf("the replica at %s sends this agent away: %w", c.Address, err)
	case connect.CodeOf(err) == connect.CodeResourceExhausted && connect.IsWireError(err):
		return fmt.Errorf("the replica at %s has no place for this agent: %w", c.Address, err)
	case connect.CodeOf(err) == connect.CodeUnauthenticated:
		return fmt.Errorf("the controller at %s does not accept this pod's token: %w", c.Address, err)
	case connect.CodeOf(err) == connect.CodePermissionDenied:
		return fmt.Errorf("the controller at %s refuses this pod: %w", c.Address, err)
	default:
		return fmt.Errorf("cannot converse with the controller at %s: %w", c.Address, plain(err))
	}
}

// plain takes off the code that connect puts on errors of the network: a dial
// that is refused is not "canceled".
func plain(err error) error {
	var coded *connect.Error
	if errors.As(err, &coded) && !connect.IsWireError(err) {
		return coded.Unwrap()
	}
	return err
}
