package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// printPlan prints a plan for people: what is done, in its order, and what is in the way.
func printPlan(out io.Writer, p bundle.Plan) error {
	counts := map[bundle.Verb]int{}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, a := range p.Actions {
		if counts[a.Verb]++; a.Verb != bundle.None {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", a.Verb, a.ID, a.Phase, remarks(a))
		}
		for _, change := range a.Changes {
			fmt.Fprintf(table, "\t  %s: %s\n", change.Path, difference(change))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, u := range p.Unverified {
		fmt.Fprintf(out, "cannot be verified before phase %s: %s: %s\n", u.After, u.ID, u.Why)
	}
	for _, g := range p.Grants {
		fmt.Fprintf(out, "grants: %s\n", g)
	}
	for _, h := range p.Holds {
		fmt.Fprintf(out, "held: %s: %s\n", h, strings.Join(h.Flags(), " "))
	}
	for _, c := range p.Conflicts {
		fmt.Fprintf(out, "conflict: %s\n", c)
	}
	_, err := fmt.Fprintf(out, "%s; plan %.12s\n", summary(counts), p.Digest)
	return err
}

// remarks are what a person should know of an action besides its verb.
func remarks(a bundle.Action) string {
	var all []string
	if a.Why != "" {
		all = append(all, a.Why)
	}
	if a.Restarts {
		all = append(all, "its pods start anew")
	}
	if len(a.Force) > 0 {
		all = append(all, "takes from others: "+strings.Join(a.Force, ", "))
	}
	return strings.Join(all, "; ")
}

// longest is how much of a value is shown, in characters.
const longest = 60

func difference(c bundle.Change) string {
	short := func(value string) string {
		if all := []rune(value); len(all) > longest {
			return string(all[:longest]) + "…"
		}
		return value
	}
	text := fmt.Sprintf("%s → %s", short(c.Before), short(c.After))
	switch {
	case c.Before == "":
		text = "+ " + short(c.After)
	case c.After == "":
		text = "- " + short(c.Before)
	}
	if c.Manager != "" {
		text += " (now of " + c.Manager + ")"
	}
	return text
}

// summary counts actions by verb.
func summary(counts map[bundle.Verb]int) string {
	var all []string
	for _, verb := range []bundle.Verb{bundle.Create, bundle.Update, bundle.Adopt, bundle.Take, bundle.Recreate, bundle.Run, bundle.Delete, bundle.Keep} {
		if counts[verb] > 0 {
			all = append(all, fmt.Sprintf("%d to %s", counts[verb], verb))
		}
	}
	if len(all) == 0 {
		return fmt.Sprintf("nothing to change in %d objects", counts[bundle.None])
	}
	return strings.Join(all, ", ") + fmt.Sprintf(", %d unchanged", counts[bundle.None])
}

// printPlanJSON prints a plan for programs. The objects themselves are left out: they
// hold what Secrets hold.
func printPlanJSON(out io.Writer, p bundle.Plan) error {
	p.Sequence = nil
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(p); err != nil {
		return fmt.Errorf("cannot print the plan: %w", err)
	}
	return nil
}
