package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// repeated is how long a log waits before it repeats a status that has not changed.
const repeated = 30 * time.Second

// standing is how long a terminal shows a status before what did not fit into its line is printed whole.
const standing = 3 * time.Second

// barWidth is the number of characters of a progress bar.
const barWidth = 20

// activity shows how far long work has come, on standard error: on a terminal as one line with a
// bar and the elapsed time that is written over, and a long status that lasts in full above it;
// elsewhere as a line for each new status, repeated each half minute with the elapsed time. With
// --quiet it prints nothing.
type activity struct {
	screen screen
	now    func() time.Time
	began  time.Time
	// status is the last one printed, at a time; drawn reports that the terminal shows it.
	status  string
	printed time.Time
	drawn   bool
	// waiting describes the wait that began at since; whole reports that it is printed whole.
	waiting string
	since   time.Time
	whole   bool
}

// activity begins one, whose elapsed time counts from now.
func (s screen) activity(now func() time.Time) *activity {
	return &activity{screen: s, now: now, began: now()}
}

// log prints what has happened as a line that stays.
func (a *activity) log(text string) {
	if a.screen.quiet {
		return
	}
	a.clear()
	fmt.Fprintln(a.screen.errs, visible(text))
	a.status = ""
}

// update shows that done of all parts are healthy and what is waited for; all may be 0 where the
// number is not known.
func (a *activity) update(done, all int, waiting string) {
	if a.screen.quiet {
		return
	}
	waiting = visible(waiting)
	now, status := a.now(), waiting
	if all > 0 {
		status = fmt.Sprintf("%d/%d healthy · %s", done, all, waiting)
	}
	if waiting != a.waiting {
		a.waiting, a.since, a.whole = waiting, now, false
	}
	elapsed := a.elapsed()
	switch {
	case a.screen.live > 0:
		line := fmt.Sprintf("%s%s · %s", bar(done, all), elapsed, status)
		if cut := utf8.RuneCountInString(line) >= a.screen.live; cut && !a.whole && now.Sub(a.since) >= standing {
			a.clear()
			fmt.Fprint(a.screen.errs, wrap(waiting, "", a.screen.live))
			a.whole = true
		}
		fmt.Fprint(a.screen.errs, "\r\x1b[K", shorten(line, a.screen.live-1))
		a.drawn = true
	case status != a.status || now.Sub(a.printed) >= repeated:
		fmt.Fprintf(a.screen.errs, "%s · %s\n", status, elapsed)
		a.printed = now
	}
	a.status = status
}

// end removes the line of a terminal.
func (a *activity) end() { a.clear() }

// elapsed returns the time since the activity began, in whole seconds.
func (a *activity) elapsed() time.Duration { return a.now().Sub(a.began).Round(time.Second) }

func (a *activity) clear() {
	if a.drawn {
		fmt.Fprint(a.screen.errs, "\r\x1b[K")
		a.drawn = false
	}
}

// bar draws how much is done; empty where that is not known.
func bar(done, all int) string {
	if all <= 0 {
		return ""
	}
	full := min(max(done, 0), all) * barWidth / all
	text := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
	return text + " "
}
