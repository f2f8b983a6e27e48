package shim

import (
	"fmt"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// expire stops the template if no renewal was acknowledged for the time that the run may be silent: another run may
// hold the workspace soon. The keeper does the same while it lives (JOBS-DESIGN.md 4).
func (s *Shim) expire() error {
	if s.keeper.terms.Lost == 0 || s.halt.begun || s.Clock()-s.keeper.terms.Acknowledged < s.keeper.terms.Lost {
		return nil
	}
	renewed, err := s.Exchange.ReadRenewed()
	if err != nil {
		return err
	}
	if renewed != nil {
		s.keeper.terms.Acknowledged = max(s.keeper.terms.Acknowledged, renewed.Sent)
	}
	if s.Clock()-s.keeper.terms.Acknowledged < s.keeper.terms.Lost {
		return nil
	}
	reason := fmt.Sprintf("no renewal was acknowledged for %s", s.keeper.terms.Lost)
	if err := s.Exchange.WriteStop(exchange.Stop{Grace: s.keeper.terms.Grace, Reason: reason}); err != nil {
		glog.Warningf("%v", err) // the template is stopped all the same
	}
	s.stop(s.keeper.terms.Grace, reason)
	return nil
}

// await waits for the outcome of a template that has ended. If no keeper lives for too long, there will be none.
func (s *Shim) await() (code int, done bool, err error) {
	alive, err := s.Exchange.Keeper().Alive()
	switch {
	case err != nil:
		return contract.Unrecorded, false, err
	case alive:
		s.keeper.since = time.Time{}
	case s.keeper.since.IsZero():
		s.keeper.since = time.Now()
	case s.Patience > 0 && time.Since(s.keeper.since) > s.Patience:
		glog.Errorf("no keeper was there for %s: the end of the run is not recorded", s.Patience)
		return contract.Unrecorded, true, nil
	}
	return 0, false, nil
}
