package main

import (
	"context"
	"errors"
	"fmt"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// progress shows how far the run of a deployment has come.
type progress struct{ *activity }

func (p *progress) tell(now engine.Progress) {
	for _, w := range now.Next.Apply {
		verb := "creates"
		if w.ResourceVersion != "" {
			verb = "updates"
		}
		p.log(fmt.Sprintf("%s %s", verb, w.Object.ID()))
	}
	for _, d := range now.Next.Delete {
		p.log(fmt.Sprintf("deletes %s", d.ID))
	}
	for _, f := range now.Next.Failures {
		p.log(fmt.Sprintf("failed: %s: %s", f.ID, f.Why))
	}
	switch status := statusOf(now); {
	case status == "":
	case now.Next.All > 0:
		p.update(now.Next.Finished, now.Next.All, "healthy · "+status)
	default:
		p.update(0, 0, status)
	}
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
