package main

import (
	"fmt"
	"io"
	"os"
	"time"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// progress tells a person how far a run has come: on a terminal in one line that is
// written over, elsewhere in a line for each thing that is new, and each half minute how long
// it has been so.
type progress struct {
	out  io.Writer
	live bool
	now  func() time.Time
	last string
	// said is when the last status was printed.
	said time.Time
}

// again is after how long a log repeats what is still waited for.
const again = 30 * time.Second

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, now: time.Now}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		p.live = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) tell(now engine.Progress) {
	for _, w := range now.Next.Apply {
		verb := "creates"
		if w.ResourceVersion != "" {
			verb = "updates"
		}
		p.line(fmt.Sprintf("%s %s", verb, w.Object.ID()))
	}
	for _, d := range now.Next.Delete {
		p.line(fmt.Sprintf("deletes %s", d.ID))
	}
	for _, f := range now.Next.Failures {
		p.line(fmt.Sprintf("failed: %s: %s", f.ID, f.Why))
	}
	if status := statusOf(now); status != "" {
		p.status(status, p.heldSince(now))
	}
}

// statusOf says what holds a run up, in words that do not change while it does.
func statusOf(now engine.Progress) string {
	what := fmt.Sprintf("revision %d", now.Revision)
	switch {
	case now.Revision == 0:
		what = "deleting"
	case now.Back:
		what += " (the way back)"
	}
	switch {
	case now.Trouble != nil:
		return fmt.Sprintf("%s: %v", what, now.Trouble)
	case len(now.Next.Waits) == 0 || now.Next.Outcome == bundle.Failed:
		return ""
	case now.Next.All > 0:
		what += fmt.Sprintf(", %d of %d healthy", now.Next.Finished, now.Next.All)
	}
	w := first(now.Next.Waits)
	return fmt.Sprintf("%s: %s: %s", what, w.ID, w.For)
}

// first is what holds up a run: an object that is on its way, rather than one that waits
// for others.
func first(waits []bundle.Wait) bundle.Wait {
	for _, w := range waits {
		if !w.Since.IsZero() {
			return w
		}
	}
	return waits[0]
}

// heldSince says for how long.
func (p *progress) heldSince(now engine.Progress) string {
	if len(now.Next.Waits) == 0 || first(now.Next.Waits).Since.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%s)", p.now().Sub(first(now.Next.Waits).Since).Round(time.Second))
}

// line prints what has happened.
func (p *progress) line(text string) {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	fmt.Fprintln(p.out, text)
	p.last = ""
}

// status prints what is waited for, and for how long already where that is not new.
func (p *progress) status(text, since string) {
	switch now := p.now(); {
	case p.live:
		fmt.Fprint(p.out, "\r\x1b[K", text, since)
	case text != p.last:
		fmt.Fprintln(p.out, text)
		p.said = now
	case now.Sub(p.said) >= again:
		fmt.Fprintln(p.out, text+since)
		p.said = now
	}
	p.last = text
}
