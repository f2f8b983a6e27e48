package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Action is the name of the action that checks.
const Action = "check"

// shortest is the least time between two checks.
const shortest = time.Minute

// Schedule tells when checks are due.
type Schedule struct{ times cron.Schedule }

// ParseSchedule reads five fields of cron in UTC, or @daily, @every 6h and the like.
func ParseSchedule(text string) (Schedule, error) {
	if strings.Contains(text, "TZ=") {
		return Schedule{}, fmt.Errorf("cannot use schedule %q: times are those of UTC: leave the time zone out", text)
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	times, err := parser.Parse(text)
	if err != nil {
		return Schedule{}, fmt.Errorf("cannot use schedule %q: %w: write minute, hour, day, month and weekday, such as \"0 3 * * *\"", text, err)
	}
	first := times.Next(time.Unix(0, 0).UTC())
	switch {
	case first.IsZero():
		return Schedule{}, fmt.Errorf("cannot use schedule %q: there is no such day", text)
	case times.Next(first).Sub(first) < shortest:
		return Schedule{}, fmt.Errorf("cannot use schedule %q: checks are a minute apart at least", text)
	}
	return Schedule{times}, nil
}

// After returns when the first check is due after the last one. One that was missed is due at once, however many were.
func (s Schedule) After(last time.Time) time.Time { return s.times.Next(last.UTC()) }
