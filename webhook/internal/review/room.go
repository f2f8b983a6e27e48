package review

import (
	"net/http"
	"time"
)

// Each pod of the cluster can call the webhook, without proof. The limits bound the memory that large requests take, which
// is that of all namespaces (TRUST.md U3). An API server waits for an answer as long as the two times together.
const (
	// small is the size of a request that needs no room, in bytes: nearly all objects are smaller.
	small = 128 << 10
	// maxLarge bounds the large requests that are read and judged at a time.
	maxLarge = 4
	// sendWithin is the time in which a large request is sent once there is room for it.
	sendWithin = 2 * time.Second
	// roomWithin is the time for which it waits for room.
	roomWithin = 3 * time.Second
	// drainWithin is the time in which the rest of a refused request is read.
	drainWithin = 10 * time.Second
	// light is the size of a request that takes little memory to judge, in bytes; YAML takes hundreds of times its text.
	light = 32 << 10
	// maxHeavy bounds the others that are judged at a time.
	maxHeavy = 2
)

//nolint:gochecknoglobals // the memory is the process's
var room, judging = make(chan struct{}, maxLarge), make(chan struct{}, maxHeavy)

// judge judges a request once there is room for what that takes.
func (h Handler[T]) judge(r *http.Request, request *Request[T]) Answer {
	if r.ContentLength < 0 || r.ContentLength > light {
		judging <- struct{}{}
		defer func() { <-judging }()
	}
	return h.Judge(request)
}

// turn is that of one request to be read and judged.
type turn struct{ taken bool }

// take waits for room for a request that is large.
func (t *turn) take(w http.ResponseWriter, r *http.Request) error {
	wait := time.NewTimer(roomWithin)
	defer wait.Stop()
	select {
	case room <- struct{}{}:
	case <-wait.C:
		return faultf(http.StatusServiceUnavailable, "cannot read the request: there are %d large ones already: try again", maxLarge)
	case <-r.Context().Done():
		return faultf(http.StatusServiceUnavailable, "cannot read the request: %w", r.Context().Err())
	}
	t.taken = true
	deadline(w, time.Now().Add(sendWithin))
	return nil
}

// leave gives the room back.
func (t *turn) leave() {
	if t.taken {
		<-room
	}
	t.taken = false
}

// deadline ends what is read of a request at a time; the zero time is never. A server that cannot is one of a test.
func deadline(w http.ResponseWriter, at time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(at)
}
