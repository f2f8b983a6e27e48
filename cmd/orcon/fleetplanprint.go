package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// The formats of fleet plan, besides those of other commands.
const (
	// asMarkdown is for pull requests.
	asMarkdown = "markdown"
	// asRoles prints Roles that give what the account of a set lacks.
	asRoles = "roles"
)

// unasked lists what only a cluster can tell of a member.
func unasked() []string {
	return []string{"conflicts", "permissions", "admission", "names that pods need"}
}

// planFormat has the formats of a heading, an object, a field, a finding, and a paragraph.
type planFormat struct{ heading, object, field, finding, paragraph string }

// print prints what changes, and the notes that are new.
func (o *fleetPlanOptions) print(s screen, r liveRights, planned []plannedMember, notes []data.Problem) error {
	switch o.output.format {
	case asRoles:
		return printRoles(s, r)
	case asMarkdown:
		printMarkdown(s, r, planned, notes)
		return nil
	}
	for _, note := range notes {
		s.note("note: " + note.String())
	}
	switch {
	case r.denied != "":
		defer s.note("note: " + r.denied)
	case !r.asked && len(planned) > 0:
		defer s.note("note: unverified without a cluster: " + strings.Join(unasked(), ", ") + " (--live asks one)")
	}
	return o.output.print(s, planned, func() error {
		planFormat{"%s\n", "  %s %s\n", "    %s: %s\n", "  %s: %s\n", "%s\n"}.print(s, r, planned)
		return nil
	})
}

// printMarkdown prints a plan for a pull request.
func printMarkdown(s screen, r liveRights, planned []plannedMember, notes []data.Problem) {
	planFormat{"### %s\n\n", "- `%s` %s\n", "  - `%s`: `%s`\n", "- **%s**: %s\n", "%s\n\n"}.print(s, r, planned)
	if len(notes) > 0 {
		fmt.Fprint(s.out, "### Notes\n\n")
	}
	for _, note := range notes {
		fmt.Fprintf(s.out, "- %s\n", note)
	}
	switch {
	case r.denied != "":
		fmt.Fprintf(s.out, "\nUnverified: %s\n", r.denied)
	case !r.asked && len(planned) > 0:
		fmt.Fprintf(s.out, "\nUnverified without a cluster: %s.\n", strings.Join(unasked(), ", "))
	}
}

// print prints members, and then what the account lacks for all of them.
func (f planFormat) print(s screen, r liveRights, planned []plannedMember) {
	for _, m := range planned {
		fmt.Fprintf(s.out, f.heading, m.title)
		for _, object := range m.Objects {
			fmt.Fprintf(s.out, f.object, object.Object, object)
			for _, change := range object.Changes {
				fmt.Fprintf(s.out, f.field, change.Path, difference(change))
			}
		}
		for _, finding := range m.Cluster.findings() {
			fmt.Fprintf(s.out, f.finding, finding[0], finding[1])
		}
		fmt.Fprintln(s.out)
	}
	if e := r.lacking; e != nil {
		fmt.Fprintf(s.out, f.paragraph, strings.TrimPrefix(e.Error(), "cannot plan: "))
		fmt.Fprintf(s.out, f.paragraph, "The same command with -o roles | kubectl apply -f - gives these permissions.")
	}
}

// printRoles prints what gives the account of a set all that it lacks. The name differs with the permissions: what an
// earlier plan gave stays.
func printRoles(s screen, r liveRights) error {
	e := r.lacking
	switch {
	case r.denied != "":
		return errors.New(r.denied)
	case e == nil:
		s.note("note: " + r.account + " lacks no permissions")
		return nil
	}
	sum := sha256.Sum256([]byte(e.Error()))
	for _, o := range e.Roles(fmt.Sprintf("orcon-fleet-%s-%x", r.set, sum[:4])) {
		if err := writeYAML(s.out, o); err != nil {
			return err
		}
	}
	return nil
}
