package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/golang/glog"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
)

// maxMessage is the largest message that is read, in bytes. A controller that is older than pieces sends a snapshot as
// one.
const maxMessage = 16 << 20

// Listener receives the messages and failures of the stream.
type Listener interface {
	// Used returns what a replica must have or know of: the revisions that were acted on (SAFETY.md V4), and the highest
	// id of a relation that was received (TRUST.md T3).
	Used() (revisions map[string]uint64, lastRelation int64)
	// Eager reports whether a caller waits, so that longer pauses would hurt.
	Eager() bool
	// Connected is called when a replica has begun to answer.
	Connected()
	Hearer
	// Lost is called when the conversation has ended or could not begin; the
	// next attempt is made after the pause. answered is set if a replica has
	// refused the conversation, or ended it with a reason.
	Lost(reason error, answered bool, pause time.Duration)
}

// Hearer acts on messages of the controller, in order, one at a time. An error ends the conversation.
type Hearer interface {
	// Received is called for each part of a databag that the next snapshot refers to.
	Received(*wire.Piece) error
	// Heard is called for each snapshot.
	Heard(*wire.Snapshot) error
}

// Client converses with the controller for as long as it runs.
type Client struct {
	// Address is the controller's, for example https://10.96.0.7:443.
	Address string
	// ServerName is the name that its certificate must be for.
	ServerName string
	// Trust is the PEM bundle that the pod was admitted with; may be empty.
	Trust string
	// TrustFile is a PEM bundle that is read at every dial; may be missing.
	TrustFile string
	// TrustKept is the file in which the client keeps the last bundle of TrustFile that verified a controller.
	TrustKept string
	// TokenFile holds the token; it is read at every dial and every Renew.
	TokenFile string
	// Listener hears what comes in.
	Listener Listener
	// Pace is how long the client waits for what.
	Pace Pace

	// keeping is held while the kept bundle is replaced: calls do so beside the stream.
	keeping sync.Mutex
}

// Run converses until ctx is done. Nothing else ends it: every failure is passed to the listener and tried again
// (SAFETY.md I19).
func (c *Client) Run(ctx context.Context) {
	var row attempts
	for ctx.Err() == nil {
		began := time.Now()
		err := c.converse(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := row.pause(c.Pace, err, time.Since(began), c.Listener.Eager())
		c.Listener.Lost(explain(err, c), connect.IsWireError(err), pause)
		sleep(ctx, pause)
	}
}

// converse holds one conversation, and returns why it ended.
func (c *Client) converse(ctx context.Context) error {
	token, err := c.token()
	if err != nil {
		return err
	}
	var controller atomic.Pointer[peer]
	transport, err := c.transport(func(p *peer) { c.keep(p); controller.Store(p) })
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stream := relationsv1alpha1connect.NewRelationsServiceClient(
		httpClient(transport), c.Address,
		connect.WithAcceptCompression("gzip", nil, nil), // memory and the controller's CPU are dearer than bytes
		connect.WithReadMaxBytes(maxMessage),
	).Converse(ctx)
	// The transport sees that ctx is done only once the request has ended.
	stop := context.AfterFunc(ctx, func() { _ = stream.CloseRequest() })
	defer func() {
		stop()
		cancel(nil) // first: nothing then waits for the peer
		_ = stream.CloseRequest()
		_ = stream.CloseResponse()
		transport.CloseIdleConnections()
	}()
	greeting := time.AfterFunc(c.Pace.Greeting, func() { cancel(errSilent) })
	defer greeting.Stop()

	revisions, lastRelation := c.Listener.Used()
	hello := &wire.Hello{Token: token, Revisions: revisions, Pieces: true, LastRelation: lastRelation}
	err = stream.Send(&wire.ConverseRequest{Message: &wire.ConverseRequest_Hello{Hello: hello}})
	if err != nil && !errors.Is(err, io.EOF) { // on EOF, receiving says why
		return cause(ctx, err)
	}
	go c.renew(ctx, stream, token)
	go c.shed(ctx, &controller, cancel)
	return cause(ctx, c.listen(stream, greeting))
}

// opened is the client's end of an open stream.
type opened = connect.BidiStreamForClient[wire.ConverseRequest, wire.ConverseResponse]

// listen passes on what it hears, until the stream ends.
func (c *Client) listen(stream *opened, greeting *time.Timer) error {
	for greeted := false; ; greeted = true {
		message, err := stream.Receive()
		if err != nil {
			return err
		}
		if !greeted {
			greeting.Stop()
			c.Listener.Connected()
		}
		if err := c.pass(message); err != nil {
			return err
		}
	}
}

// pass gives the listener what came.
func (c *Client) pass(message *wire.ConverseResponse) error {
	if piece := message.GetPiece(); piece != nil {
		return c.Listener.Received(piece)
	}
	if snapshot := message.GetSnapshot(); snapshot != nil {
		return c.Listener.Heard(snapshot)
	}
	return nil
}

// renew sends the token whenever its file has changed, until ctx is done. The
// kubelet replaces it when a fifth of its life is left.
func (c *Client) renew(ctx context.Context, stream *opened, sent string) {
	for sleep(ctx, c.Pace.Renew) {
		token, err := c.token()
		if err != nil {
			glog.Warningf("%v", err)
			continue
		}
		if token == sent {
			continue
		}
		if err := stream.Send(&wire.ConverseRequest{Message: &wire.ConverseRequest_Renew{Renew: &wire.Renew{Token: token}}}); err != nil {
			return // the receiving side says why
		}
		sent = token
	}
}

// shed ends the conversation once today's authorities do not verify the controller.
func (c *Client) shed(ctx context.Context, controller *atomic.Pointer[peer], end context.CancelCauseFunc) {
	for sleep(ctx, c.Pace.Renew) {
		if p := controller.Load(); p != nil && !c.trusts(p) {
			end(errRevoked)
			return
		}
	}
}

func (c *Client) token() (string, error) {
	text, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the pod's token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("cannot read the pod's token: %s is empty", c.TokenFile)
	}
	return token, nil
}

// sleep waits and tells whether to go on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
