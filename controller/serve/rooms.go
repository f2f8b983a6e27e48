package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/semaphore"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve/limit"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

const (
	// maxRoom is how much memory the requests of a namespace that need much take at once in one replica, in bytes:
	// twice, since secrets and snapshots have a room each. A pod has a quarter of it, or one message.
	maxRoom = 2 * maxWhole
	// maxSecretReads is how many requests for secrets are carried out at once: each takes a Secret of 1 MiB, as it is
	// sent and as it is read.
	maxSecretReads = 8
	secretRoom     = maxRoom / maxSecretReads
	// smallMessage is the size of a message of a stream that needs no room, in bytes.
	smallMessage = 64 << 10
	// takenWithin is how long a pod may take to receive a message.
	takenWithin = 10 * time.Second
)

// rooms bounds the memory that each namespace takes (TRUST.md U2).
type rooms struct {
	mu   sync.Mutex
	each map[lot]*room
}

// lot names a room: for secrets or snapshots of a namespace, or of one of its pods.
type lot struct {
	namespace, pod string
	secrets        bool
}

// size returns how large the room is, in bytes.
func (l lot) size() int64 {
	if l.pod != "" {
		return maxRoom / 4
	}
	return maxRoom
}

// room has what is left of it, and how many use it.
type room struct {
	left  *semaphore.Weighted
	users int
}

// enter waits until there is room for what a pod requests, for limit.AnswerWithin at most, and takes it until leave is
// called.
func (r *rooms) enter(ctx context.Context, id identity.Identity, secrets bool, bytes int64) (leave func(), err error) {
	ctx, stop := context.WithTimeout(ctx, limit.AnswerWithin)
	defer stop()
	leaveOwn, err := r.take(ctx, lot{id.Namespace, id.UID, secrets}, bytes)
	if err != nil {
		return nil, err
	}
	leaveShared, err := r.take(ctx, lot{id.Namespace, "", secrets}, bytes)
	if err != nil {
		leaveOwn()
		return nil, err
	}
	return func() {
		leaveShared()
		leaveOwn()
	}, nil
}

// take takes room, or all of it, until leave is called.
func (r *rooms) take(ctx context.Context, l lot, bytes int64) (leave func(), err error) {
	bytes = min(bytes, l.size())
	in := r.room(l)
	forget := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if in.users--; in.users == 0 {
			delete(r.each, l)
		}
	}
	if in.left.Acquire(ctx, bytes) != nil {
		forget()
		return nil, connect.NewError(connect.CodeUnavailable,
			errors.New("the pods of namespace "+l.namespace+" request as much at once as they may: try again"))
	}
	return func() {
		in.left.Release(bytes)
		forget()
	}, nil
}

// room returns a room, with one more user.
func (r *rooms) room(l lot) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.each == nil {
		r.each = map[lot]*room{}
	}
	in := r.each[l]
	if in == nil {
		in = &room{left: semaphore.NewWeighted(l.size())}
		r.each[l] = in
	}
	in.users++
	return in
}

// needs returns the room that a request for a procedure takes until it is answered.
func needs(procedure string) (secrets bool, bytes int64) {
	switch procedure {
	case relationsv1alpha1connect.RelationsServiceGetProcedure:
		return false, maxWhole
	case relationsv1alpha1connect.RelationsServiceGetSecretProcedure, relationsv1alpha1connect.RelationsServiceListSecretsProcedure:
		return true, secretRoom
	}
	return false, 0
}

// entering passes on requests once there is room for them, and ends those whose answers are not received in time.
func (r *rooms) entering(next http.Handler) http.Handler {
	errs := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if secrets, bytes := needs(req.URL.Path); bytes > 0 {
			leave, err := r.enter(req.Context(), limit.Proven(req.Context()), secrets, bytes)
			if err != nil {
				_ = errs.Write(w, req, err) // the caller has gone
				return
			}
			defer leave()
		}
		answer := http.NewResponseController(w)
		_ = answer.SetWriteDeadline(time.Now().Add(limit.AnswerWithin + limit.LongestHold + takenWithin)) // HTTP/1 and HTTP/2 can
		defer func() { _ = answer.SetWriteDeadline(time.Time{}) }()
		next.ServeHTTP(w, req)
	})
}

type writesKey struct{}

// timely has a message of a stream end it if it is not received in time.
func timely(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), writesKey{}, http.NewResponseController(w))))
	})
}

// punctual sends each message of a stream in time, or fails.
type punctual struct {
	sender

	writes *http.ResponseController
}

// Send sends a message.
func (p punctual) Send(message *v1alpha1.ConverseResponse) error {
	_ = p.writes.SetWriteDeadline(time.Now().Add(takenWithin))
	defer func() { _ = p.writes.SetWriteDeadline(time.Time{}) }()
	return p.sender.Send(message)
}
