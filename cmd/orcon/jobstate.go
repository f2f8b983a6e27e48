package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

func newJobState() *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Show, compare, fetch and replace the states of a JobWorkspace",
		Long: `job state shows the states of a JobWorkspace and decides which one counts. A generation is a state that a run or a person
committed; a checkpoint one that a run stored before its end; an orphan one that is not a generation, and is kept for
30 days.

A state is named by one of:

    current         the current generation
    3               a generation that is kept, by its number
    checkpoint      the last checkpoint of the run that holds the lock
    store           the newest generation of the store, if an older JobWorkspace was restored
    DIGEST          the beginning of a digest, at least 6 characters, as job state show prints it

States may hold secrets. Each one that is read is recorded as an Event of the JobWorkspace, with the name of the reader.`,
		Example: `  orcon job state show web -n shop
  orcon job state diff web current checkpoint -n shop
  orcon job state rollback web -n shop --because "generation 7 lost the network"`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newStateShow(), newStateDiff(), newStatePull(), newStatePush(), newStateRollback(), newStateAccept(), newStateDiscard())
	return c
}

func newStateShow() *cobra.Command {
	var o jobOptions
	var out output
	c := &cobra.Command{
		Use:   "show WORKSPACE",
		Short: "Show the lock of a JobWorkspace and all its states",
		Long: `job state show lists the states that a JobWorkspace names, with their digests and sizes, and who made them; and who holds
the lock. It shows no content.

It needs the permission get of jobworkspaces/state in API group jobs.orcon.tengu.io, which the cluster role edit has.

Exit codes: 0 shown, 2 the command failed.`,
		Example: "  orcon job state show web -n shop\n  orcon job state show web -n shop -o json | jq .state.orphans",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			target, err := o.find(args[0])
			if err != nil {
				return err
			}
			state, err := target.state(c.Context())
			if err != nil {
				return err
			}
			s := screenOf(c)
			return out.print(s, state, func() error { return printState(s, state) })
		},
	}
	o.flags(c)
	c.ValidArgsFunction = o.complete("JobWorkspace")
	out.flag(c, asTable, asJSON, asYAML)
	return c
}

// namedState is one state of a JobWorkspace, by the name that commands take.
type namedState struct {
	name, digest, key, author, note string
}

// statesOf returns all states of a JobWorkspace that have content, the current one first.
func statesOf(s people.State) []namedState {
	var all []namedState
	add := func(name string, archive *v1alpha1.JobArchive, author, note string) {
		if archive != nil && archive.Key != "" {
			all = append(all, namedState{name, archive.Digest, archive.Key, author, note})
		}
	}
	if g := s.State.Generation; g != nil {
		add("current", g.Archive, g.Author, fmt.Sprintf("generation %d", g.Number)+exited(g.Exit))
	}
	if c := s.State.Checkpoint; c != nil {
		add("checkpoint", c.Archive, s.State.Lock.Run.Name, fmt.Sprintf("checkpoint %d%s", c.Sequence, torn(c.Consistency)))
	}
	if s.Store.Generation > number(s) {
		add("store", s.Store.Newest, "", fmt.Sprintf("generation %d of the store", s.Store.Generation))
	}
	for _, g := range s.State.Kept {
		add(fmt.Sprint(g.Number), g.Archive, g.Author, fmt.Sprintf("generation %d", g.Number)+exited(g.Exit))
	}
	for _, o := range s.State.Orphans {
		note := "orphan"
		if o.Since != nil {
			note += " since " + o.Since.UTC().Format("2006-01-02 15:04Z")
		}
		if o.Decision == v1alpha1.DecisionDiscarded {
			note += ", discarded"
		}
		add(shortDigest(o.Archive), o.Archive, o.Author, note+torn(o.Consistency)+exited(o.Exit))
	}
	return all
}

// shortDigest returns the beginning of a digest.
func shortDigest(a *v1alpha1.JobArchive) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%.12s", strings.TrimPrefix(a.Digest, "sha256:"))
}

// exited describes how the process that left a state ended; empty if it succeeded.
func exited(e *v1alpha1.JobExit) string {
	switch {
	case e == nil:
		return ""
	case e.Cause != "":
		return ", its program: " + e.Cause
	}
	return fmt.Sprintf(", its program failed with exit code %d", e.Code)
}

// torn describes a state that a program may have been writing.
func torn(c v1alpha1.JobConsistency) string {
	if c == v1alpha1.ConsistencyTorn {
		return ", torn: it may be half written"
	}
	return ""
}

// printState prints the lock and the states of a JobWorkspace.
func printState(s screen, state people.State) error {
	fmt.Fprintf(s.out, "%s: %s\n", s.paint(bold, state.Namespace+"/"+state.Name), s.paint(phaseStyle(state.Phase), state.Phase))
	fmt.Fprint(s.out, wrap(state.Message, "  ", s.width))
	if state.Proposal != "" {
		fmt.Fprintf(s.out, "  proposed: accept the %s\n", state.Proposal)
	}
	fmt.Fprintln(s.out)
	all := statesOf(state)
	if len(all) == 0 {
		s.note("there is no state yet: generation 0 is empty")
		return nil
	}
	sizes := map[string]int64{}
	for _, one := range state.Archives {
		sizes[one.Key] = one.Bytes
	}
	t := s.table("STATE", "DIGEST", "BYTES", "BY", "NOTE")
	for _, one := range all {
		size, stored := sizes[one.key]
		bytes := fmt.Sprint(size)
		if !stored {
			bytes = "missing"
		}
		t.row(one.name, fmt.Sprintf("%.12s", strings.TrimPrefix(one.digest, "sha256:")), bytes, cmp.Or(one.author, "-"), one.note)
	}
	return t.print()
}
