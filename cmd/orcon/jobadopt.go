package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// adoptOptions are the flags of job state adopt.
type adoptOptions struct {
	decideOptions

	from string
}

func newStateAdopt() *cobra.Command {
	var o adoptOptions
	c := &cobra.Command{
		Use:   "adopt WORKSPACE --because TEXT",
		Short: "Take over the state of a deleted JobWorkspace",
		Long: `job state adopt copies the last state of a deleted JobWorkspace into WORKSPACE, as its next generation. Use it after a
JobWorkspace, its namespace or Orcon was deleted and made anew, or to go on under another name. Without --from it takes
the state of the last one of the same name that was not destroyed; --from UID takes one that was. The store keeps the
original for 90 days.

A JobWorkspace that is made anew under its name shows StoreAhead, and no run starts, until you decide: adopt the state,
or begin empty with orcon job state accept WORKSPACE --because TEXT --store ignore.

It needs the permission create of jobworkspaces/decision in API group jobs.orcon.tengu.io, and get of jobworkspaces/state
both here and where the state was left, which the cluster role edit has in a namespace. A state whose namespace the store
does not know needs it in all namespaces.

Exit codes: 0 adopted, 2 the command failed, 130 interrupted.`,
		Example: `  orcon job state adopt web -n shop --because "the namespace was deleted by mistake"
  orcon job state adopt web -n shop --from shop-old/web --because "moved"
  orcon job state adopt web -n shop --from 0b2f7a52-6f6e-4e83-9d0c-3b9a1c2d4e5f --because "moved"`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.from, "from", people.SameName, "NAMESPACE/NAME or UID of the JobWorkspace that is gone; "+
		people.SameName+" is the last one of the same name")
	return c
}

func (o *adoptOptions) run(c *cobra.Command, name string) error {
	target, seen, err := o.look(c, name)
	if err != nil {
		return err
	}
	left, err := target.left(c.Context(), o.from)
	if err != nil {
		return err
	}
	s := screenOf(c)
	if err := printLeft(s, left); err != nil {
		return err
	}
	chosen, err := o.choose(left.Items)
	if err != nil {
		return err
	}
	if chosen == nil {
		return fmt.Errorf("no state was left by %s: --from takes NAMESPACE/NAME or the UID of another JobWorkspace that is gone", o.whose(target))
	}
	question := fmt.Sprintf("Adopt generation %d of UID %s in place of generation %d of %s?", chosen.Generation, chosen.UID, number(seen), target)
	return o.decide(c, target, seen, people.Decision{Remedy: people.Adopt, Left: chosen.LeftName}, question)
}

// choose returns the newest state; nil for none. The state of a JobWorkspace that was destroyed is chosen by its UID alone.
func (o *adoptOptions) choose(left []people.LeftState) (*people.LeftState, error) {
	named := o.from != people.SameName && !strings.Contains(o.from, "/")
	var destroyed *people.LeftState
	for i, l := range left {
		switch {
		case l.Archive == nil:
		case named || l.End != people.EndDestroyed:
			return &left[i], nil
		case destroyed == nil:
			destroyed = &left[i]
		}
	}
	if destroyed != nil {
		return nil, fmt.Errorf("the JobWorkspace that left the state was destroyed: to adopt it anyway, use --from %s", destroyed.UID)
	}
	return nil, nil //nolint:nilnil // there is none
}

// whose describes the JobWorkspaces whose states are adopted.
func (o *adoptOptions) whose(target jobTarget) string {
	if o.from == people.SameName {
		return fmt.Sprintf("an earlier JobWorkspace %s", target)
	}
	return fmt.Sprintf("JobWorkspace %q, or you may not read it, or it is not gone", o.from)
}

// left reads what JobWorkspaces left that are gone.
func (t jobTarget) left(ctx context.Context, from string) (left people.Left, err error) {
	request, err := t.request("GET", people.Workspaces, people.Archives, false)
	if err != nil {
		return left, err
	}
	if err := answer(request.Param(people.LeftBy, from).Do(ctx), &left); err != nil {
		return left, fmt.Errorf("cannot read what was left for JobWorkspace %s: %w", t, err)
	}
	return left, nil
}

// printLeft prints a table of the states that deleted JobWorkspaces left.
func printLeft(s screen, left people.Left) error {
	if len(left.Items) == 0 {
		return nil
	}
	t := s.table("LEFT BY", "UID", "GENERATION", "DIGEST", "GONE SINCE", "KEPT UNTIL", "NOTE")
	for _, l := range left.Items {
		note := ""
		switch {
		case l.Archive == nil:
			note = "empty"
		case l.End == people.EndDestroyed:
			note = "destroyed"
		}
		const day = "2006-01-02 15:04Z"
		t.row(l.Name, l.UID, l.Generation, shortDigest(l.Archive), l.Since.UTC().Format(day), l.Until.UTC().Format(day), note)
	}
	return t.print()
}
