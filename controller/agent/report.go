package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/golang/glog"
)

// report collects events for logs, metrics and people. It logs a condition once, not each time that it still holds.
type report struct {
	started, opened time.Time

	connected  bool
	since      time.Time // of connected, or of not being so
	why        string    // not connected
	reconnects int

	applied, refused, resets int
	refusal                  string // the latest

	lastChange time.Time
	failures   int       // of writing, in a row
	failing    string    // why
	failed     int       // of writing, in all
	reported   time.Time // failing, to the controller
	unkept     unkept
	waiting    string // what the gate waits for
	untooled   string // why the tools are not installed
}

// The pauses between attempts to write what could not be written.
const (
	firstPause = 500 * time.Millisecond
	mostPause  = 30 * time.Second
)

// settle notes whether everything was written and returns how long to wait
// before another attempt.
func (r *report) settle(err error) time.Duration {
	if err == nil {
		if r.failures > 0 {
			glog.Infof("all files are written again")
		}
		r.failures, r.failing = 0, ""
		return 0
	}
	if text := strings.ReplaceAll(err.Error(), "\n", "; "); text != r.failing {
		glog.Errorf("%s; trying again", text)
		r.failing = text
	}
	pause := min(firstPause<<min(r.failures, 6), mostPause)
	r.failures++
	r.failed++
	return pause
}

// When failures to write are reported to the controller.
const (
	// passing is how many attempts in a row may fail without a report.
	passing = 2
	// unwrittenEvery is the pause between reports as long as attempts fail.
	unwrittenEvery = time.Minute
)

// unwritten returns the failure to write for which a report is due; empty for none. It is due once.
func (r *report) unwritten() string {
	if r.failures <= passing || time.Since(r.reported) < unwrittenEvery {
		return ""
	}
	r.reported = time.Now()
	return r.failing
}

// unkept counts attempts to keep a databag that failed in a row.
type unkept struct {
	attempts int
	reported time.Time
}

// due notes an attempt, and reports whether its failure is to be reported.
func (u *unkept) due() bool {
	u.attempts++
	if u.attempts <= passing || time.Since(u.reported) < unwrittenEvery {
		return false
	}
	u.reported = time.Now()
	return true
}

// refuse notes a snapshot that was not used.
func (r *report) refuse(kind string, used, got uint64) {
	r.refused++
	text := fmt.Sprintf("ignored a snapshot: its revision of %s is %d, older than %d, which is in use", kind, got, used)
	if text != r.refusal {
		glog.Warning(text)
	}
	r.refusal = text
}

// reset notes that the store was restored to an earlier state than the one in use.
func (r *report) reset(used, got map[string]uint64) {
	r.resets++
	glog.Warningf("the store was restored to an earlier state: using revisions %v after %v", got, used)
}

// changed notes a change of the files.
func (r *report) changed(format string, args ...any) {
	r.lastChange = time.Now()
	glog.Infof(format, args...)
}

// wait notes what the gate waits for.
func (r *report) wait(unmet []Unmet) {
	var whys []string
	for _, u := range unmet {
		whys = append(whys, u.Endpoint+": "+u.Why)
	}
	if text := strings.Join(whys, "; "); text != r.waiting {
		glog.Infof("the gate is closed: waiting for %s", text)
		r.waiting = text
	}
}

// waited returns how long the gate was closed, until now if it still is.
func (r *report) waited() time.Duration {
	until := r.opened
	if until.IsZero() {
		until = time.Now()
	}
	return until.Sub(r.started).Round(time.Millisecond)
}
