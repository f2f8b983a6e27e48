package serve

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"connectrpc.com/connect"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/crowd"
)

// The bounds of streams in one replica (TRUST.md A7).
const (
	// maxAge is the greatest age of a stream. A replica that came back, as in an upgrade, has its part of the streams
	// within that time. Each of the streams of a full replica costs a handshake, a TokenReview and a snapshot that
	// often: two in a second.
	maxAge = 30 * time.Minute
	// maxStreams is how many streams a replica has. Each takes about 80 KiB, with TLS and its buffers: together a third
	// of the container's memory, so that the caches, and garbage, have the rest.
	maxStreams = 2048
)

var (
	errAged = connect.NewError(connect.CodeUnavailable,
		errors.New("the stream has reached its greatest age: connect again, perhaps to another replica"))
	errCrowded = connect.NewError(connect.CodeResourceExhausted,
		fmt.Errorf("this replica has as many streams as it may, %d by default: try again later; if this lasts, add a replica", maxStreams))
)

// Streams bounds the streams of a replica, and the memory that answers take. If there are too many, the namespace with
// the most gives one up for another with fewer, so that no namespace keeps out the agents of others.
type Streams struct {
	// Greatest is the greatest age of a stream, and Most how many there may be; 0 for maxAge and maxStreams.
	Greatest time.Duration
	Most     int

	mu    sync.Mutex
	crowd crowd.Crowd[*place]
	rooms rooms
}

// place is the place of a stream in its replica.
type place struct {
	// dismissed has why the replica ends the stream, once it does.
	dismissed chan error
}

// dismiss ends the stream; the first reason counts.
func (p *place) dismiss(why error) {
	select {
	case p.dismissed <- why:
	default:
	}
}

// enter returns a place for a stream of a namespace until free is called, or errCrowded.
func (s *Streams) enter(namespace string) (p *place, free func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crowd.Total = cmp.Or(s.Most, maxStreams)
	p = &place{dismissed: make(chan error, 1)}
	evicted, admitted := s.crowd.Admit(namespace, p)
	if evicted != nil {
		crowded.Inc()
		(*evicted).dismiss(errCrowded)
	}
	if !admitted {
		crowded.Inc()
		return nil, nil, errCrowded
	}
	age := crowd.Age(cmp.Or(s.Greatest, maxAge), rand.Float64()) //nolint:gosec // jitter, not a secret
	timer := time.AfterFunc(age, func() { p.dismiss(errAged) })
	return p, func() {
		timer.Stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.crowd.Leave(namespace, p)
	}, nil
}
