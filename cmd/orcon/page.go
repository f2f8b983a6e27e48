package main

import (
	_ "embed" // for the page
	"fmt"
	html "html/template"
	"io"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// pageText is the page of a plan. Whatever it shows is escaped where it stands, and it
// allows itself neither scripts nor anything from elsewhere.
//
//go:embed page.html
var pageText string

// page holds the values of a plan's page.
type page struct {
	bundle.Preview

	Summary string
	// Steps are done one after the other.
	Steps []pageStep
	// Verify lists what could not be verified.
	Verify []string
}

// pageStep is one phase.
type pageStep struct {
	Title   string
	Actions []bundle.PreviewAction
}

// printPage prints a plan as one page of HTML that needs nothing else.
func printPage(out io.Writer, p bundle.Plan) error {
	v := p.Preview()
	shown := page{Preview: v, Summary: summary(p), Verify: unverified(v.Unverified)}
	for _, a := range v.Actions {
		if a.Verb == bundle.None && a.Why == "" {
			continue // it is counted
		}
		title := "Phase " + a.Phase
		if a.Verb == bundle.Delete || a.Verb == bundle.Keep || a.Verb == bundle.GiveBack {
			title = "When all is healthy: what left the bundle"
		}
		if last := len(shown.Steps) - 1; last < 0 || shown.Steps[last].Title != title {
			shown.Steps = append(shown.Steps, pageStep{Title: title})
		}
		last := &shown.Steps[len(shown.Steps)-1]
		last.Actions = append(last.Actions, a)
	}
	parsed, err := html.New("page").Parse(pageText)
	if err == nil {
		err = parsed.Execute(out, shown)
	}
	if err != nil {
		return fmt.Errorf("cannot print the plan as a page: %w", err)
	}
	return nil
}
