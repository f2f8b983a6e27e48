package shim

import (
	"os"
	"syscall"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// Failure tells how a template that has failed is treated.
type Failure struct {
	// Hold is how long its container is held, so that a person can look into it; 0 for not at all. The run has not ended
	// until then: what the person leaves in the state is captured.
	Hold time.Duration

	// ended is the end that is not reported yet; nil for none. until is when it is.
	ended *exchange.Ended
	until time.Time
}

// finished is the container of a template that has ended.
type finished struct{ *Shim }

// end reports the end of the template, or begins to hold the container of one that has failed by itself.
func (s finished) end(e exchange.Ended) error {
	if s.Failure.Hold <= 0 || e.Code == 0 || e.Killed || s.halt.begun {
		return s.conclude(e)
	}
	glog.Infof("the template failed with exit code %d: its container is held for %s", e.Code, s.Failure.Hold)
	s.Failure.ended, s.Failure.until = &e, time.Now().Add(s.Failure.Hold)
	return exchange.WriteFailed(s.Exchange, exchange.Failed{Code: e.Code, Hold: s.Failure.Hold})
}

// release reports the end of a template whose container is held, once that is over: by time, by a cancel, or as the
// container is stopped.
func (s finished) release(received os.Signal) error {
	stop, err := s.Exchange.ReadStop()
	if err == nil {
		err = s.expire()
	}
	if err != nil {
		return err
	}
	stopped := stop != nil || s.halt.begun || received == syscall.SIGTERM || received == syscall.SIGINT
	if !stopped && time.Now().Before(s.Failure.until) {
		return nil
	}
	ended := *s.Failure.ended
	s.Failure.ended = nil
	return s.conclude(ended)
}

// conclude reports the end of the template.
func (s finished) conclude(e exchange.Ended) error {
	s.Rescue.save(s.Folder)
	return s.Exchange.WriteEnded(e)
}
