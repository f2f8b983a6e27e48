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
	c.AddCommand(newStateShow(), newStateDiff(), newStatePull(), newStatePush(), newStateRollback(), newStateAccept(),
		newStateDiscard(), newStateAdopt())
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
	orphan, discarded               bool
}

// statesOf returns all states of a JobWorkspace that have content, the current one first.
func statesOf(s people.State) []namedState {
	var all []namedState
	add := func(archive *v1alpha1.JobArchive, one namedState) {
		if archive != nil && archive.Key != "" {
			one.digest, one.key = archive.Digest, archive.Key
			all = append(all, one)
		}
	}
	if g := s.State.Generation; g != nil {
		add(g.Archive, ofGeneration("current", *g))
	}
	if c, lock := s.State.Checkpoint, s.State.Lock; c != nil && lock != nil {
		note := fmt.Sprintf("checkpoint %d%s", c.Sequence, torn(c.Consistency))
		add(c.Archive, namedState{name: "checkpoint", author: lock.Run.Name, note: note})
	}
	if s.Store.Generation > number(s) {
		add(s.Store.Newest, namedState{name: "store", note: fmt.Sprintf("generation %d of the store", s.Store.Generation)})
	}
	for _, g := range s.State.Kept {
		add(g.Archive, ofGeneration(fmt.Sprint(g.Number), g))
	}
	for _, o := range s.State.Orphans {
		add(o.Archive, ofOrphan(o))
	}
	return all
}

// ofGeneration describes a generation.
func ofGeneration(name string, g v1alpha1.JobGeneration) namedState {
	return namedState{name: name, author: g.Author, note: fmt.Sprintf("generation %d%s", g.Number, exited(g.Exit))}
}

// ofOrphan describes an orphan.
func ofOrphan(o v1alpha1.JobOrphan) namedState {
	one := namedState{
		name: shortDigest(o.Archive), author: o.Author, note: "orphan", orphan: true, discarded: o.Decision == v1alpha1.DecisionDiscarded,
	}
	if o.Since != nil {
		one.note += " since " + o.Since.UTC().Format("2006-01-02 15:04Z")
	}
	if one.discarded {
		one.note += ", discarded"
	}
	one.note += torn(o.Consistency) + exited(o.Exit)
	return one
}

// shortDigest returns the beginning of a digest.
func shortDigest(a *v1alpha1.JobArchive) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%.12s", plainDigest(a.Digest))
}

// plainDigest returns the digits of a digest.
func plainDigest(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

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
		t.row(one.name, fmt.Sprintf("%.12s", plainDigest(one.digest)), bytes, cmp.Or(one.author, "-"), one.note)
	}
	return t.print()
}
