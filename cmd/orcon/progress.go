package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// progress shows how far the run of a deployment has come.
type progress struct {
	*activity

	// tail reads the last lines of a log.
	tail func(bundle.Log) []string
	// shown has the logs of waits whose lines were printed.
	shown map[bundle.Log]bool
}

func (p *progress) tell(now engine.Progress) {
	for _, w := range now.Next.Apply {
		verb := "creates"
		if w.ResourceVersion != "" {
			verb = "updates"
		}
		p.log(fmt.Sprintf("%s %s", verb, w.Object.ID()))
	}
	for _, d := range now.Next.Delete {
		verb := "deletes"
		if d.Original != nil {
			verb = "gives back"
		}
		p.log(fmt.Sprintf("%s %s", verb, d.ID))
	}
	for _, f := range now.Next.Failures {
		p.quote(fmt.Sprintf("failed: %s: %s", f.ID, f.Why), f.Log)
	}
	p.noteAssumed(now.Next)
	if waits := now.Next.Waits; len(waits) > 0 && now.Next.Outcome == bundle.Progressing {
		if first := now.Next.First(); first.Log != (bundle.Log{}) && !p.shown[first.Log] {
			p.shown[first.Log] = true
			p.quote("waiting for "+first.String(), first.Log)
			p.waiting, p.whole = visible(statusOf(now)), true
		}
	}
	switch status := statusOf(now); {
	case status == "":
	case now.Next.All > 0:
		p.update(now.Next.Finished, now.Next.All, status)
	default:
		p.update(0, 0, status)
	}
}

// noteAssumed prints which objects count as healthy without a sign of it, once the run has succeeded.
func (p *progress) noteAssumed(next bundle.Next) {
	if next.Outcome != bundle.Succeeded {
		return
	}
	for _, a := range next.Assumed {
		p.log("note: " + a.String())
	}
}

// quote prints a text with the end of the log about it, or with the command that prints the log.
func (p *progress) quote(text string, l bundle.Log) {
	var lines []string
	if l != (bundle.Log{}) && p.tail != nil && !p.screen.quiet {
		lines = p.tail(l)
	}
	if len(lines) == 0 {
		p.log(l.After(text))
		return
	}
	p.log(strings.Join(append([]string{text + "; its log ends with:"}, lines...), "\n    "))
}

// statusOf describes what holds a run up, in words that do not change meanwhile.
func statusOf(now engine.Progress) string {
	waiting := now.Next.Waiting()
	switch {
	case errors.Is(now.Trouble, context.Canceled): // the end says that it was interrupted
		return ""
	case now.Trouble != nil:
		waiting = fmt.Sprintf("cannot read the cluster: %v", now.Trouble)
	case waiting == "" || now.Next.Outcome == bundle.Failed:
		return ""
	}
	switch {
	case now.Revision == 0:
		return "deleting · " + waiting
	case now.Back:
		return "rolling back · " + waiting
	}
	return waiting
}
