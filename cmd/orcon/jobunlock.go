package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// decideOptions are the flags of commands by which a person decides about a JobWorkspace.
type decideOptions struct {
	jobOptions

	because string
	yes     bool
}

func (o *decideOptions) flags(c *cobra.Command) {
	o.jobOptions.flags(c)
	c.ValidArgsFunction = o.complete("JobWorkspace")
	c.Flags().StringVar(&o.because, "because", "", "reason, which an Event shows to others (required)")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
}

// look returns the state of a JobWorkspace, about which the person decides.
func (o *decideOptions) look(c *cobra.Command, name string) (jobTarget, people.State, error) {
	if strings.TrimSpace(o.because) == "" {
		return jobTarget{}, people.State{}, errors.New(`the flag --because is missing: give the reason, for those who read of the decision later`)
	}
	target, err := o.find(name)
	if err != nil {
		return target, people.State{}, err
	}
	state, err := target.state(c.Context())
	return target, state, err
}

// decide carries out a decision about a state that the person saw, after a confirmation.
func (o *decideOptions) decide(c *cobra.Command, target jobTarget, seen people.State, d people.Decision, question string) error {
	if !o.yes {
		if err := ask(c, question); err != nil {
			return err
		}
	}
	d.Because, d.Generation = o.because, number(seen)
	after, err := target.decide(c.Context(), d)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "JobWorkspace %s: %s: %s\n", target, after.Phase, after.Message)
	return err
}

// number returns the number of the current generation.
func number(s people.State) int64 {
	if s.State.Generation == nil {
		return 0
	}
	return s.State.Generation.Number
}

// state reads the state of a JobWorkspace.
func (t jobTarget) state(ctx context.Context) (s people.State, err error) {
	request, err := t.request("GET", people.Workspaces, people.Archives, false)
	if err != nil {
		return s, err
	}
	if err := answer(request.Do(ctx), &s); err != nil {
		return s, fmt.Errorf("cannot read the state of JobWorkspace %s: %w", t, err)
	}
	return s, nil
}

// decide sends a decision, and returns the state after it.
func (t jobTarget) decide(ctx context.Context, d people.Decision) (s people.State, err error) {
	request, err := t.request("POST", people.Workspaces, people.Decisions, false)
	if err != nil {
		return s, err
	}
	body, err := json.Marshal(d)
	if err != nil {
		return s, err
	}
	return s, answer(request.SetHeader("Content-Type", "application/json").Body(body).Do(ctx), &s)
}

// unlockOptions are the flags of job unlock.
type unlockOptions struct {
	decideOptions

	accept, orphan       string
	retry, discard, torn bool
}

func newJobUnlock() *cobra.Command {
	var o unlockOptions
	c := &cobra.Command{
		Use:   "unlock WORKSPACE --because TEXT",
		Short: "Decide about a run that is lost: accept a state, retry, or discard",
		Long: `job unlock releases the lock of a run that is lost: one that no longer sends renewals, or whose pod ended without an
outcome. Its program may still run. First make sure that it does not: job unlock prints where it ran. Then choose:

    --accept checkpoint   its last checkpoint becomes the next generation
    --accept generation   the current generation stays; what the run stored is kept as an orphan for 30 days
    --accept orphan       the state that --orphan names, by the beginning of its digest, becomes the next generation
    --retry               the same run starts again, from the current generation; its checkpoint becomes an orphan
    --discard             the current generation stays; the checkpoint of the run is dropped

Without one of these it proposes the checkpoint if that is consistent and newer, else the generation; with --yes it
carries that out without asking. A checkpoint
that was stored while the program may have been writing needs --torn.

job unlock shows the state, asks, and decides about exactly what it showed. An Event of the JobWorkspace names you and
the reason. It needs the permissions get of jobworkspaces/state and create of jobworkspaces/decision in API group
jobs.orcon.tengu.io, which the cluster role edit has.

Exit codes: 0 decided, 2 the command failed, 130 interrupted.`,
		Example: `  orcon job unlock web -n shop --because "node n3 is switched off"
  orcon job unlock web -n shop --because "node n3 is switched off" --accept generation --yes
  orcon job unlock web -n shop --because "its pod was evicted" --retry`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.accept, "accept", "", "generation, checkpoint or orphan")
	c.Flags().StringVar(&o.orphan, "orphan", "", "beginning of the digest of an orphan, for --accept orphan")
	c.Flags().BoolVar(&o.retry, "retry", false, "start the same run again")
	c.Flags().BoolVar(&o.discard, "discard", false, "drop the checkpoint of the run")
	c.Flags().BoolVar(&o.torn, "torn", false, "accept a checkpoint although it may be half written")
	return c
}

// remedy returns the remedy that the flags name; "" for none.
func (o *unlockOptions) remedy() (string, error) {
	var chosen []string
	if o.accept != "" {
		chosen = append(chosen, o.accept)
	}
	if o.retry {
		chosen = append(chosen, "retry")
	}
	if o.discard {
		chosen = append(chosen, "discard")
	}
	switch {
	case len(chosen) > 1:
		return "", errors.New("cannot use several of --accept, --retry and --discard: leave all but one out")
	case o.accept != "" && o.accept != "generation" && o.accept != "checkpoint" && o.accept != "orphan":
		return "", fmt.Errorf("--accept %q is unknown: use generation, checkpoint or orphan", o.accept)
	case (o.accept == "orphan") != (o.orphan != ""):
		return "", errors.New("--accept orphan needs --orphan DIGEST, and --orphan needs --accept orphan: orcon job state show lists orphans")
	}
	return strings.Join(chosen, ""), nil
}

func (o *unlockOptions) run(c *cobra.Command, name string) error {
	remedy, err := o.remedy()
	if err != nil {
		return err
	}
	target, seen, err := o.look(c, name)
	if err != nil {
		return err
	}
	lock := seen.State.Lock
	if lock == nil || lock.Recovery == nil {
		return fmt.Errorf("JobWorkspace %s needs no unlocking: %s: %s", target, seen.Phase, seen.Message)
	}
	if err := printState(screenOf(c), seen); err != nil {
		return err
	}
	d := people.Decision{Remedy: cmp.Or(remedy, seen.Proposal), Fence: lock.Fence, Torn: o.torn}
	if o.orphan != "" {
		chosen, err := chooseOrphan(seen, o.orphan)
		if err != nil {
			return err
		}
		d.Orphan = chosen.key
	}
	where := "an unknown place"
	if lock.Claimant != nil && lock.Claimant.Where != "" {
		where = lock.Claimant.Where
	}
	question := fmt.Sprintf("The program of %s must not run any more on %s. Decide %q?", lock.Run.Name, where, d.Remedy)
	return o.decide(c, target, seen, d, question)
}
