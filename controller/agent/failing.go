package agent

import (
	"context"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// reportAgain is how soon what did not get through is said again.
const reportAgain = 10 * time.Second

// report tells the controller what the handlers fail at, as often as the domain says,
// and that they no longer do. What a process before this one has told is not known:
// it is put right as soon as this one has failed, or is idle.
func (h *Handlers) report(ctx context.Context, idle bool) error {
	failure, owed := h.owesReport(idle)
	if !owed {
		return nil
	}
	if err := h.speech.Report(ctx, failure); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reported = &failure
	return nil
}

func (h *Handlers) owesReport(idle bool) (failure status.Failure, owed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	failure = h.failed.Failure
	switch last := h.reported; {
	case last == nil:
		return failure, idle || failure.Fails()
	case !failure.Fails():
		return failure, last.Fails()
	default:
		return failure, failure.Event != last.Event || failure.Relation != last.Relation ||
			status.Tells(failure.Attempts) && failure.Attempts != last.Attempts
	}
}
