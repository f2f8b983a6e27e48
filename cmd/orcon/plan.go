package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// printPlan prints a plan for people: the actions in their order, what could not be verified, new grants, and what is
// in the way; confirmed are the values of --confirm. With --verbose, each permission has a line of its own.
func printPlan(s screen, p bundle.Plan, confirmed []string) error {
	out := s.out
	v := p.Preview()
	if err := printActions(out, v.Actions); err != nil {
		return err
	}
	for _, line := range unverified(v.Unverified) {
		fmt.Fprintf(out, "cannot be verified before %s\n", line)
	}
	for _, line := range granted(v.Grants, s.verbose) {
		fmt.Fprintf(out, "grants: %s\n", line)
	}
	for _, h := range v.Holds {
		missing := slices.DeleteFunc(slices.Clone(h.Flags), func(flag string) bool {
			return slices.Contains(confirmed, strings.TrimPrefix(flag, "--confirm "))
		})
		if len(missing) > 0 {
			fmt.Fprintf(out, "held: %s: %s\n", h.Words, strings.Join(missing, " "))
		}
	}
	for _, c := range v.Conflicts {
		fmt.Fprintf(out, "conflict: %s\n", c)
	}
	for _, r := range v.Refused {
		fmt.Fprintf(out, "refused by the policy: %s\n", r)
	}
	_, err := fmt.Fprintf(out, "%s; plan %.12s\n", summary(p), p.Digest)
	return err
}

// printActions prints a line for each action, and one for each field that it changes.
func printActions(out io.Writer, actions []bundle.PreviewAction) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, a := range actions {
		if a.Verb != bundle.None {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", a.Verb, a, a.Phase, strings.Join(a.Remarks(), "; "))
		}
		for _, change := range a.Changes {
			fmt.Fprintf(table, "\t  %s: %s\n", change.Path, difference(change))
		}
	}
	return table.Flush()
}

// fewGrants is how many permissions of one account have a line each.
const fewGrants = 2

// granted returns the permissions that a plan grants, those of an account that gets many in one
// line, unless all are wanted. What gives everything is never summed up.
func granted(grants []bundle.PreviewGrant, all bool) []string {
	counts := map[string]int{}
	for _, g := range grants {
		if !g.Everything {
			counts[g.To]++
		}
	}
	var lines []string
	for _, g := range grants {
		switch n := counts[g.To]; {
		case all, g.Everything, n > 0 && n <= fewGrants:
			lines = append(lines, g.Words)
		case n > 0:
			lines = append(lines, fmt.Sprintf("%s gets %d permissions (-v lists them)", g.To, n))
			counts[g.To] = 0
		}
	}
	return lines
}

// fewNames is how many objects are named that all have the same said of them.
const fewNames = 3

// unverified groups what could not be verified by its reason.
func unverified(list []bundle.PreviewUnverified) []string {
	var whys []string
	names := map[string][]string{}
	for _, u := range list {
		why := fmt.Sprintf("phase %s: %s: ", u.After, u.Why)
		if !slices.Contains(whys, why) {
			whys = append(whys, why)
		}
		names[why] = append(names[why], u.String())
	}
	for i, why := range whys {
		all := names[why]
		whys[i] += strings.Join(all[:min(fewNames, len(all))], ", ")
		if more := len(all) - fewNames; more > 0 {
			whys[i] += fmt.Sprintf(", and %d more", more)
		}
	}
	return whys
}

// longest is how much of a value is shown, in characters.
const longest = 60

// difference writes the change of a value. Of long ones it shows the part from shortly before they differ.
func difference(c bundle.PreviewChange) string {
	before, after := c.Before, c.After
	if equal := commonPrefix(before, after); max(len(before), len(after)) > longest && equal > longest/2 {
		before, after = behind(before, equal-longest/4), behind(after, equal-longest/4)
	}
	before, after = shorten(before, longest+1), shorten(after, longest+1)
	if c.Manager != "" {
		before += " (set by " + c.Manager + ")"
	}
	switch {
	case c.Before == "":
		return "+ " + after
	case c.After == "":
		return "- " + before
	}
	return before + " → " + after
}

// commonPrefix returns how many characters two texts begin with alike.
func commonPrefix(a, b string) int {
	one, other := []rune(a), []rune(b)
	n := 0
	for n < len(one) && n < len(other) && one[n] == other[n] {
		n++
	}
	return n
}

// behind returns a text without its first characters.
func behind(text string, characters int) string { return "…" + string([]rune(text)[characters:]) }

// summary counts actions by verb. An object that stays because another owner has it is not called unchanged.
func summary(p bundle.Plan) string {
	counts, blocked := map[bundle.Verb]int{}, 0
	for _, a := range p.Actions {
		if a.Verb == bundle.None && slices.ContainsFunc(p.Conflicts, func(c bundle.Conflict) bool { return c.ID == a.ID }) {
			blocked++
			continue
		}
		counts[a.Verb]++
	}
	var all []string
	for _, verb := range []bundle.Verb{bundle.Create, bundle.Update, bundle.Adopt, bundle.Take, bundle.Recreate, bundle.Run, bundle.Delete,
		bundle.GiveBack, bundle.Keep} {
		if counts[verb] > 0 {
			all = append(all, fmt.Sprintf("%d to %s", counts[verb], verb))
		}
	}
	if blocked > 0 {
		all = append(all, fmt.Sprintf("%d in conflict", blocked))
	}
	if len(all) == 0 {
		return "nothing to change in " + objects(counts[bundle.None])
	}
	return strings.Join(all, ", ") + fmt.Sprintf(", %d unchanged", counts[bundle.None])
}
