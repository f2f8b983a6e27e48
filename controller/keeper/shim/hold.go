package shim

import (
	"os"
	"syscall"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// Hold keeps the container of a template that has failed, so that a person can look into it. The run has not ended until
// then: what the person leaves in the state is captured.
type Hold struct {
	// For is how long; 0 for not at all.
	For time.Duration

	// ended is the end that is not reported yet; nil for none. until is when it is.
	ended *exchange.Ended
	until time.Time
}

// hold begins to hold the container of a template that has failed by itself, and reports whether it does.
func (s *Shim) hold(e exchange.Ended) (bool, error) {
	if s.Hold.For <= 0 || e.Code == 0 || e.Killed || s.halt.begun {
		return false, nil
	}
	glog.Infof("the template failed with exit code %d: its container is held for %s", e.Code, s.Hold.For)
	s.Hold.ended, s.Hold.until = &e, time.Now().Add(s.Hold.For)
	return true, s.Exchange.WriteHeld(exchange.Held{Code: e.Code, For: s.Hold.For})
}

// release reports the end of a template whose container is held, once that is over: by time, by a cancel, or as the
// container is stopped.
func (s *Shim) release(received os.Signal) error {
	stop, err := s.Exchange.ReadStop()
	if err == nil {
		err = s.expire()
	}
	if err != nil {
		return err
	}
	stopped := stop != nil || s.halt.begun || received == syscall.SIGTERM || received == syscall.SIGINT
	if !stopped && time.Now().Before(s.Hold.until) {
		return nil
	}
	ended := *s.Hold.ended
	s.Hold.ended = nil
	return s.conclude(ended)
}

// conclude reports the end of the template.
func (s *Shim) conclude(e exchange.Ended) error {
	s.Rescue.save(s.Folder)
	return s.Exchange.WriteEnded(e)
}
