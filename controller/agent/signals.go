package agent

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// Processes are those of the pod's other containers.
type Processes interface {
	// Signal sends a signal, by its name without SIG, to the main process of each
	// container that has the files. It returns how many it has reached; an error is
	// about those that it has not.
	Signal(name string) (reached int, err error)
}

// signals tells the pod's containers by a signal that their files have changed:
// once for a change, however much changed at once. A container that is not there
// needs none, since it reads the new files when it starts. Methods may be called at
// any time.
type signals struct {
	name      string
	processes Processes
	opened    File // containers have been started
	memory    File

	mu      sync.Mutex
	wanted  string // version of the files as they are
	told    string // and as containers were told of
	sent    time.Time
	reached int
	failed  failure
	retry   *time.Timer
}

// newSignals goes on where the last process was.
func newSignals(name string, processes Processes, disk Disk) *signals {
	told, err := disk.Signalled.Read()
	if err != nil {
		glog.Errorf("%v; the signal is sent again", err)
	}
	return &signals{name: name, processes: processes, opened: disk.Opened, memory: disk.Signalled, told: string(told)}
}

// tell takes note of the version of the files as they are now, and sends the signal if that has changed. Versions do
// not count before the gate has opened: no container has read one.
func (s *signals) tell(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = version
	s.try()
}

func (s *signals) tryAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.try()
}

// try sends the signal if it is owed, and again later if none of its targets received it.
func (s *signals) try() {
	if s.retry != nil {
		s.retry.Stop()
		s.retry = nil
	}
	if s.wanted == s.told {
		return
	}
	if s.opened.Exists() {
		reached, err := s.processes.Signal(s.name)
		if s.failed = s.failure(err); err != nil && reached == 0 {
			pause := retry.After(s.failed.Attempts)
			s.failed.next = time.Now().Add(pause)
			s.retry = time.AfterFunc(pause, s.tryAgain)
			return
		}
		s.sent, s.reached = time.Now(), reached
		glog.Infof("sent %s to %d containers: their files have changed", s.name, reached)
	}
	s.told = s.wanted
	if err := s.memory.Replace([]byte(s.told)); err != nil {
		glog.Errorf("cannot remember that %s was sent: %v", s.name, err)
	}
}

func (s *signals) failure(err error) failure {
	if err == nil {
		return failure{}
	}
	glog.Warningf("cannot tell every container of a change: %v", err)
	return failure{Failure: status.Failure{Attempts: s.failed.Attempts + 1, Said: err.Error()}}
}

// status says for a person what was sent.
func (s *signals) status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.retry != nil:
		return fmt.Sprintf("%s failed, attempt %d, next attempt at %s: %s", s.name, s.failed.Attempts, stamp(s.failed.next), s.failed.Said)
	case s.sent.IsZero():
		return s.name + ", not sent by this process yet"
	default:
		return fmt.Sprintf("%s, sent to %d containers at %s, %s", s.name, s.reached, stamp(s.sent),
			cmp.Or(s.failed.Said, "which is all that ran"))
	}
}
