package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// acceptOptions are the flags of job state accept.
type acceptOptions struct {
	decideOptions

	store, orphan string
}

func newStateAccept() *cobra.Command {
	var o acceptOptions
	c := &cobra.Command{
		Use:   "accept WORKSPACE --because TEXT",
		Short: "Accept a state that needs it, so that runs go on",
		Long: `job state accept lets the runs of a JobWorkspace go on. --store also takes the lock from a run of before the restore:
first make sure that its program no longer runs. --orphan is refused while a run holds the lock.

    without a flag         NeedsAccept: the state that a killed program left counts as it is
    --store newest         StoreAhead: go on from the newest generation of the store
    --store ignore         StoreAhead: go on from the generation of the JobWorkspace. The store's is kept as an orphan.
                           What a deleted JobWorkspace left stays in the store for 90 days (orcon job state adopt)
    --orphan DIGEST        an orphan becomes the next generation

Look at the states before: orcon job state diff. The permissions are those of orcon job unlock, which decides about a
run that is lost.

Exit codes: 0 accepted, 2 the command failed, 130 interrupted.`,
		Example: `  orcon job state accept web -n shop --because "I have compared it with the cluster"
  orcon job state accept web -n shop --because "restored by mistake" --store newest
  orcon job state accept web -n shop --because "it is the true one" --orphan 3f2a91`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.store, "store", "", "newest or ignore, if the store is ahead")
	c.Flags().StringVar(&o.orphan, "orphan", "", "beginning of the digest of an orphan")
	exclude(c, "store", "orphan")
	return c
}

func (o *acceptOptions) run(c *cobra.Command, name string) error {
	remedy := map[string]string{"": "generation", "newest": people.StoreNewest, "ignore": people.StoreIgnore}[o.store]
	if remedy == "" {
		return fmt.Errorf("--store %q is unknown: use newest or ignore", o.store)
	}
	target, seen, err := o.look(c, name)
	if err != nil {
		return err
	}
	d := people.Decision{Remedy: remedy}
	if lock := seen.State.Lock; lock != nil {
		d.Fence = lock.Fence
	} else if last := seen.State.LastEnd; last != nil {
		d.Fence = last.Fence
	}
	if o.orphan != "" {
		if seen.State.Lock != nil {
			return fmt.Errorf("a run holds the lock of JobWorkspace %s: wait for it, or decide about a lost one: orcon job unlock %s -n %s",
				target, target.name, target.namespace)
		}
		chosen, err := chooseOrphan(seen, o.orphan)
		if err != nil {
			return err
		}
		d.Remedy, d.Orphan = "orphan", chosen.key
	}
	if o.store == "" && o.orphan == "" && seen.Phase != "NeedsAccept" {
		return fmt.Errorf("JobWorkspace %s needs no acceptance of its state: %s: %s", target, seen.Phase, seen.Message)
	}
	if o.store != "" && seen.Phase != "StoreAhead" {
		return fmt.Errorf("JobWorkspace %s has nothing to accept: its store is not ahead", target)
	}
	if err := printState(screenOf(c), seen); err != nil {
		return err
	}
	return o.decide(c, target, seen, d, fmt.Sprintf("Decide %q?", d.Remedy))
}

func newStateRollback() *cobra.Command {
	var o decideOptions
	c := &cobra.Command{
		Use:   "rollback WORKSPACE [GENERATION] --because TEXT",
		Short: "Make an earlier generation the current one",
		Long: `job state rollback makes a generation that is kept the current one, as a new generation. Without GENERATION it is the one
before the current. It changes only the state: what the program manages stays as it is until the next run.

The permissions are those of orcon job unlock.

Exit codes: 0 done, 2 the command failed, 130 interrupted.`,
		Example: `  orcon job state rollback web -n shop --because "generation 7 lost the network"
  orcon job state rollback web 5 -n shop --because "generations 6 and 7 lost the network"`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error {
			target, seen, err := o.look(c, args[0])
			if err != nil {
				return err
			}
			to, err := earlier(seen, args[1:])
			if err != nil {
				return err
			}
			if err := printState(screenOf(c), seen); err != nil {
				return err
			}
			return o.decide(c, target, seen, people.Decision{Remedy: people.Rollback, To: to}, fmt.Sprintf("Go back to generation %d?", to))
		},
	}
	o.flags(c)
	return c
}

// earlier returns the generation that a rollback goes back to.
func earlier(seen people.State, named []string) (int64, error) {
	if len(named) > 0 {
		to, err := strconv.ParseInt(named[0], 10, 64)
		if err != nil || to < 1 {
			return 0, fmt.Errorf("%q is not the number of a generation: orcon job state show %s -n %s lists those that are kept",
				named[0], seen.Name, seen.Namespace)
		}
		return to, nil
	}
	if len(seen.State.Kept) == 0 {
		return 0, errors.New("no earlier generation is kept")
	}
	return seen.State.Kept[0].Number, nil
}

func newStateDiscard() *cobra.Command {
	var o decideOptions
	c := &cobra.Command{
		Use:   "discard WORKSPACE ORPHAN --because TEXT",
		Short: "Give up an orphan, which is then deleted",
		Long: `job state discard gives up an orphan, named by the beginning of its digest. Its archive is deleted later. Without that an
orphan is kept for 30 days.

The permissions are those of orcon job unlock.

Exit codes: 0 done, 2 the command failed, 130 interrupted.`,
		Example: `  orcon job state discard web 3f2a91 -n shop --because "compared: nothing is missing"`,
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			target, seen, err := o.look(c, args[0])
			if err != nil {
				return err
			}
			chosen, err := chooseOrphan(seen, args[1])
			if err != nil {
				return err
			}
			return o.decide(c, target, seen, people.Decision{Remedy: "discard", Orphan: chosen.key}, fmt.Sprintf("Give up orphan %s?", chosen.name))
		},
	}
	o.flags(c)
	return c
}
