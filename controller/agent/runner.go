package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/golang/glog"
)

// The paths by which the runner of handlers speaks with the agent.
const (
	pathNext = "/next"
	pathLast = "/last"
	pathDone = "/done"
	pathOver = "/over"
)

// RunnerHandler answers the runner of handlers, and the tools that they run.
func (a *Agent) RunnerHandler(container string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathNext, func(w http.ResponseWriter, r *http.Request) {
		turn, err := a.handlers.Next(r.Context())
		if err != nil {
			return // the runner has gone
		}
		writeTurn(w, turn)
	})
	mux.HandleFunc("POST "+pathLast, func(w http.ResponseWriter, r *http.Request) {
		turn, owed := a.handlers.Last(r.Context(), func() bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.report.connected
		})
		if !owed {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		writeTurn(w, turn)
	})
	mux.HandleFunc("POST "+pathOver, func(_ http.ResponseWriter, r *http.Request) { farewell(r.Context(), a.speech.Snapshot) })
	mux.HandleFunc("POST "+pathDone, func(w http.ResponseWriter, r *http.Request) {
		var done Done
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCall)).Decode(&done)
		if err == nil {
			err = a.handlers.Done(r.Context(), done)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	mux.Handle("/", a.ToolHandler(container))
	return mux
}

func writeTurn(w http.ResponseWriter, turn Turn) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(turn); err != nil {
		glog.V(1).Infof("cannot tell the runner of %s: %v; it asks again", turn.Hook, err)
	}
}

// Runner is the runner's end of the agent's socket.
type Runner struct{ Socket string }

// Run has handle handle each event until ctx is done, and then, until the time of the container that ends is over, those
// of the unit's own end. What it has not finished when its own context is done is sent again.
func (r Runner) Run(ctx context.Context, handle func(context.Context, Turn) Done) {
	until, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		r.farewell(until)
		stop()
	})()
	for turn, ok := r.Next(ctx); ok; turn, ok = r.Next(ctx) {
		r.handle(until, turn, handle)
	}
	for turn, ok := r.Last(until); ok; turn, ok = r.Last(until) {
		r.handle(until, turn, handle)
	}
}

func (r Runner) handle(ctx context.Context, turn Turn, handle func(context.Context, Turn) Done) {
	done := handle(ctx, turn)
	if ctx.Err() != nil {
		return
	}
	if err := r.Done(ctx, done); err != nil {
		glog.Warningf("%s: %v", turn.Hook, err)
	}
}

// farewell returns when the time of the handlers of a container that ends is over. Without an answer of the agent, it
// is the time of a pod without a known deadline.
func (r Runner) farewell(ctx context.Context) {
	alone, stop := context.WithTimeout(ctx, unknownTime)
	defer stop()
	var nothing strings.Builder
	for post(ctx, r.Socket, pathOver, nil, &nothing) != nil && pause(alone) == nil {
	}
}

// Next waits for the next event; ok is false when ctx is done, which alone ends
// that. An agent that is not there yet, or no more, is waited for.
func (r Runner) Next(ctx context.Context) (turn Turn, ok bool) {
	for ctx.Err() == nil {
		if turn, ok = r.turn(ctx, pathNext); ok {
			return turn, true
		}
		_ = pause(ctx)
	}
	return turn, false
}

// Last is Next once the runner's container ends: ok is false when the unit has nothing
// more to hear, and where no agent answers.
func (r Runner) Last(ctx context.Context) (turn Turn, ok bool) { return r.turn(ctx, pathLast) }

func (r Runner) turn(ctx context.Context, path string) (turn Turn, ok bool) {
	var answered strings.Builder
	if err := post(ctx, r.Socket, path, nil, &answered); err != nil {
		return Turn{}, false
	}
	return turn, json.Unmarshal([]byte(answered.String()), &turn) == nil
}

// errDropped says that what a handler did counts for nothing.
var errDropped = errors.New("the agent has dropped the event; it is sent again")

// Done tells the agent how a turn has ended.
func (r Runner) Done(ctx context.Context, done Done) error {
	body, err := json.Marshal(done)
	if err != nil {
		return fmt.Errorf("cannot write the end of a turn: %w", err)
	}
	var nothing strings.Builder
	if err := post(ctx, r.Socket, pathDone, body, &nothing); err != nil {
		return fmt.Errorf("%w: %w", errDropped, err)
	}
	return nil
}
