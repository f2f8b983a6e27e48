package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

const (
	// stateLimit is how large the plain archive of a state may be, in bytes.
	stateLimit = job.MaxState
	// fewestDigits is how much of a digest names a state.
	fewestDigits = 6
)

// choose returns the state that a user names.
func choose(s people.State, named string) (namedState, error) {
	if g := s.State.Generation; g != nil && named == fmt.Sprint(g.Number) {
		named = "current"
	}
	return chooseOf(s, statesOf(s), "state", named)
}

// chooseOrphan returns the orphan that a user names.
func chooseOrphan(s people.State, named string) (namedState, error) {
	orphans := slices.DeleteFunc(statesOf(s), func(one namedState) bool { return !one.orphan })
	return chooseOf(s, orphans, "orphan", named)
}

// chooseOf returns one of some states, by its name or by the beginning of its digest, which must fit one digest alone.
func chooseOf(s people.State, all []namedState, kind, named string) (namedState, error) {
	var found []namedState
	var names []string
	for _, one := range all {
		if one.name == named {
			return one, nil
		}
		digest := strings.TrimPrefix(named, "sha256:")
		if len(digest) >= fewestDigits && strings.HasPrefix(plainDigest(one.digest), digest) {
			found = append(found, one)
		}
		names = append(names, one.name)
	}
	differ := func(one namedState) bool { return one.digest != found[0].digest }
	switch {
	case len(found) > 0 && slices.ContainsFunc(found, differ):
		return namedState{}, fmt.Errorf("JobWorkspace %s/%s has several %ss whose digests begin with %q: write more of the digest",
			s.Namespace, s.Name, kind, named)
	case len(found) > 0:
		return found[0], nil // equal digests are equal states
	}
	cure := fmt.Sprintf("orcon job state show %s -n %s lists them", s.Name, s.Namespace)
	if near := spelling.Nearest(named, names); near != "" {
		cure = fmt.Sprintf("did you mean %q?", near)
	}
	return namedState{}, fmt.Errorf("JobWorkspace %s/%s has no %s %q: %s", s.Namespace, s.Name, kind, named, cure)
}

// fetch reads a state into an empty folder.
func (t jobTarget) fetch(ctx context.Context, one namedState, folder string) error {
	request, err := t.request("GET", people.Workspaces, people.Archives, true)
	if err != nil {
		return err
	}
	in, err := request.Param(people.Archive, one.key).Stream(ctx)
	if err != nil {
		return fmt.Errorf("cannot read state %s of JobWorkspace %s: %w", one.name, t, ofJobs(err))
	}
	defer in.Close() //nolint:errcheck // it is only read
	file, err := os.CreateTemp("", "orcon-state-")
	if err != nil {
		return fmt.Errorf("cannot read state %s: %w", one.name, err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the folder is a temporary one
	defer file.Close()           //nolint:errcheck // it is read to its end
	if _, err := io.Copy(file, in); err != nil {
		return fmt.Errorf("cannot read state %s of JobWorkspace %s: %w", one.name, t, err)
	}
	return state.Restore(folder, file, one.digest, stateLimit)
}

func newStatePull() *cobra.Command {
	var o jobOptions
	c := &cobra.Command{
		Use:   "pull WORKSPACE FOLDER [STATE]",
		Short: "Write a state into a folder",
		Long: `job state pull writes a state into a folder, which must be empty or not exist. STATE is the current one, unless it names
another as in orcon job state --help. The state may hold secrets: only you can read the folder.

It needs the permission get of jobworkspaces/state in API group jobs.orcon.tengu.io, which the cluster role edit has.

Exit codes: 0 written, 2 the command failed.`,
		Example: `  orcon job state pull web ./state -n shop
  orcon job state pull web ./before 6 -n shop`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.pull(c, args) },
	}
	o.flags(c)
	c.ValidArgsFunction = o.complete("JobWorkspace")
	return c
}

func (o *jobOptions) pull(c *cobra.Command, args []string) error {
	target, err := o.find(args[0])
	if err != nil {
		return err
	}
	seen, err := target.state(c.Context())
	if err != nil {
		return err
	}
	chosen, err := choose(seen, append(args, "current")[2])
	if err != nil {
		return err
	}
	folder := args[1]
	if err := private(folder); err != nil {
		return err
	}
	if err := target.fetch(c.Context(), chosen, folder); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s of JobWorkspace %s is in %s\n", chosen.note, target, folder)
	return err
}

// private makes a folder, or an empty one, readable for its owner alone. One that holds something stays as it is.
func private(folder string) error {
	err := os.MkdirAll(folder, 0o700)
	if err != nil {
		return fmt.Errorf("cannot write the state: %w", err)
	}
	held, err := os.ReadDir(folder)
	if err == nil && len(held) == 0 {
		err = os.Chmod(folder, 0o700) //nolint:gosec // it is a folder
	}
	if err != nil {
		return fmt.Errorf("cannot write the state where only you can read it: %w: name a folder that does not exist", err)
	}
	return nil
}

func newStatePush() *cobra.Command {
	var o decideOptions
	c := &cobra.Command{
		Use:   "push WORKSPACE FOLDER --because TEXT",
		Short: "Make the files of a folder the next generation",
		Long: `job state push makes the files of a folder the state of a JobWorkspace: the first one, such as a terraform.tfstate that
is moved here, or one in place of the current. It takes the lock while it stores the state, and is refused while a run
holds it, or if the current generation is no longer the one that it showed. The earlier generation is kept.

It needs the permissions get and update of jobworkspaces/state in API group jobs.orcon.tengu.io, which the cluster role
edit has.

Exit codes: 0 stored, 2 the command failed, 130 interrupted.`,
		Example: `  orcon job state push web ./state -n shop --because "moved from the old machine"`,
		Args:    arguments,
		RunE:    func(c *cobra.Command, args []string) error { return o.push(c, args[0], args[1]) },
	}
	o.flags(c)
	return c
}

func (o *decideOptions) push(c *cobra.Command, name, folder string) error {
	var packed bytes.Buffer
	summary, err := state.Capture(&packed, folder, state.Options{Limit: stateLimit})
	if err != nil {
		return err
	}
	if summary.Torn {
		return errors.New("the files change while they are read: stop the program that writes them, then try again")
	}
	target, seen, err := o.look(c, name)
	if err != nil {
		return err
	}
	if err := printState(screenOf(c), seen); err != nil {
		return err
	}
	if !o.yes {
		question := fmt.Sprintf("Replace generation %d by the files of %s (%.12s)?", number(seen), filepath.Clean(folder),
			plainDigest(summary.Digest))
		if err := ask(c, question); err != nil {
			return err
		}
	}
	request, err := target.request("PUT", people.Workspaces, people.Archives, true)
	if err != nil {
		return err
	}
	var after people.State
	err = answer(request.Param(people.Generation, strconv.FormatInt(number(seen), 10)).Param(people.Because, o.because).
		SetHeader("Content-Type", people.ArchiveType).Body(packed.Bytes()).Do(c.Context()), &after)
	if err != nil {
		return fmt.Errorf("cannot push a state to JobWorkspace %s: %w", target, err)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "JobWorkspace %s: generation %d is current\n", target, number(after))
	return err
}
