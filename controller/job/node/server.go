package node

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/golang/glog"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1/nodev1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// Server serves the node API.
type Server struct {
	Nodes     Nodes
	Offers    Offers
	Runs      OfferedRuns
	Authority *Authority
	// Address is the URL by which nodes reach the controller; "" where it serves none.
	Address string
	// Recipient returns the public key to which agents encrypt what they keep for the controller; "" for none.
	Recipient func() string
	Clock     func() time.Time
}

var _ nodev1alpha1connect.NodeServiceHandler = (*Server)(nil)

// maxMessage is how large a request may be, in bytes.
const maxMessage = 1 << 20

// Handler returns the path of the API, and its handler.
func (s *Server) Handler() (string, http.Handler) {
	path, handler := nodev1alpha1connect.NewNodeServiceHandler(s, connect.WithReadMaxBytes(maxMessage))
	return path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), connection{}, r.TLS)))
	})
}

// connection is the key of the state of a connection in the context of its requests.
type connection struct{}

// peer returns the node that calls.
func (s *Server) peer(ctx context.Context) (peer, error) {
	state, _ := ctx.Value(connection{}).(*tls.ConnectionState)
	return s.Authority.verify(ctx, state)
}

// secretSize is the size of the secret of a token, in bytes.
const secretSize = 32

// Mint makes a token for a node, and returns the invitation with it.
func (s *Server) Mint(ctx context.Context, name string) (string, error) {
	secret := make([]byte, secretSize)
	if _, err := rand.Read(secret); err != nil {
		return "", fmt.Errorf("cannot make a token: %w", err)
	}
	_, authorities, err := s.Authority.Bundle(ctx)
	if err != nil {
		return "", err
	}
	word := base64.RawURLEncoding.EncodeToString(secret)
	err = s.change(ctx, name, func(n node.Node) (node.Identity, error) { return n.Mint(node.Digest([]byte(word)), s.Clock()) })
	return node.Invitation{Address: s.Address, Node: name, Secret: word, Authorities: authorities}.String(), err
}

// Minter mints tokens for runs.
type Minter struct{ *Server }

// Mintable returns why no token can be made for a node.
func (m Minter) Mintable(ctx context.Context, name string) error {
	if m.Address == "" {
		return errors.New("the job controller serves no RunNodes: set its flag -nodeAddress")
	}
	n, err := m.Nodes.Get(ctx, name)
	if errors.Is(err, ErrNone) {
		return fmt.Errorf("%w: create it, or correct the name", err)
	}
	if err == nil {
		_, err = n.Mint("", m.Clock())
	}
	return err
}

// swaps is how often a change is decided anew because the node has changed meanwhile.
const swaps = 8

// change stores what a node is known by.
func (s *Server) change(ctx context.Context, name string, decide func(node.Node) (node.Identity, error)) error {
	for range swaps {
		n, version, err := s.Nodes.Stored(ctx, name)
		if err != nil {
			return err
		}
		next, err := decide(n)
		if err != nil {
			return err
		}
		if err = s.Nodes.Identify(ctx, name, version, next); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return fmt.Errorf("cannot store RunNode %s: %w %d times", name, ErrMoved, swaps)
}

// Join implements the node API.
func (s *Server) Join(ctx context.Context, r *connect.Request[wire.JoinRequest]) (*connect.Response[wire.JoinResponse], error) {
	c, err := s.certify(ctx, r.Msg.GetNode(), r.Msg.GetRequest(), func(n node.Node, key string) (node.Identity, error) {
		return n.Join(node.Digest([]byte(r.Msg.GetToken())), key, s.Clock())
	})
	if err != nil {
		return nil, refusal(err)
	}
	glog.Infof("RunNode %s has joined", r.Msg.GetNode())
	return connect.NewResponse(&wire.JoinResponse{Certificate: c}), nil
}

// Renew implements the node API.
func (s *Server) Renew(ctx context.Context, r *connect.Request[wire.RenewRequest]) (*connect.Response[wire.RenewResponse], error) {
	p, err := s.peer(ctx)
	var c *wire.Certificate
	if err == nil {
		c, err = s.certify(ctx, p.name, r.Msg.GetRequest(), func(n node.Node, key string) (node.Identity, error) {
			if key != p.key {
				return n.Identity, fmt.Errorf("%w: its key is not that of the connection", errRequest)
			}
			return n.Renew(key, p.expires, s.Clock())
		})
	}
	if err != nil {
		return nil, refusal(err)
	}
	return connect.NewResponse(&wire.RenewResponse{Certificate: c}), nil
}

// certify signs a certificate for a node that may have one. The node is stored first.
func (s *Server) certify(
	ctx context.Context, name string, request []byte, decide func(n node.Node, key string) (node.Identity, error),
) (*wire.Certificate, error) {
	public, key, err := parse(request)
	if err != nil {
		return nil, err
	}
	if err := s.change(ctx, name, func(n node.Node) (node.Identity, error) { return decide(n, key) }); err != nil {
		return nil, err
	}
	signed, err := s.Authority.Sign(ctx, name, public)
	if err != nil {
		return nil, err
	}
	bundle, _, err := s.Authority.Bundle(ctx)
	return &wire.Certificate{Certificate: signed, Authorities: bundle}, err
}

// refusal returns the answer to an error. A stranger does not learn which nodes there are.
func refusal(err error) error {
	if errors.Is(err, ErrNone) {
		err = node.ErrUnknown
	}
	for _, known := range []error{node.ErrUnknown, node.ErrRevoked, node.ErrExpired, node.ErrToken, errRequest, errPeer} {
		if errors.Is(err, known) {
			return connect.NewError(connect.CodePermissionDenied, err)
		}
	}
	if errors.Is(err, context.Canceled) { // the agent has something to report, and calls again
		return connect.NewError(connect.CodeCanceled, err)
	}
	glog.Warningf("cannot answer a RunNode: %v", err)
	return connect.NewError(connect.CodeUnavailable, errors.New("the controller cannot answer now: call again"))
}
