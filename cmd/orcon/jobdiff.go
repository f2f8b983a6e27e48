package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// stateDiffOptions are the flags of job state diff.
type stateDiffOptions struct {
	jobOptions

	output output
}

// changedFile is one line of job state diff.
type changedFile struct {
	// Change is added, removed or changed.
	Change string `json:"change"`
	File   string `json:"file"`
	// From and To describe the file in both states; empty where it is not.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

func newStateDiff() *cobra.Command {
	var o stateDiffOptions
	c := &cobra.Command{
		Use:   "diff WORKSPACE [FROM] [TO]",
		Short: "List the files in which two states differ",
		Long: `job state diff lists the files that are added, removed or changed from one state to another, named as in
orcon job state --help. FROM is the current one if it is left out. TO is then what a decision may be about: the
checkpoint of the run that holds the lock, else the newest state of a store that is ahead, else the last orphan, else
the generation before the current.

It prints no content: to see that, write both into folders by orcon job state pull and compare them with diff -r.

It needs the permission get of jobworkspaces/state in API group jobs.orcon.tengu.io, which the cluster role edit has.

Exit codes: 0 the files are equal, 1 they differ, 2 the command failed.`,
		Example: `  orcon job state diff web -n shop
  orcon job state diff web 6 current -n shop`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0], args[1:]) },
	}
	o.flags(c)
	c.ValidArgsFunction = o.complete("JobWorkspace")
	o.output.flag(c, asTable, asJSON, asYAML)
	return c
}

func (o *stateDiffOptions) run(c *cobra.Command, name string, named []string) error {
	target, err := o.find(name)
	if err != nil {
		return err
	}
	seen, err := target.state(c.Context())
	if err != nil {
		return err
	}
	from, to, err := comparedStates(seen, named)
	if err != nil {
		return err
	}
	var files [2]map[string]stateFile
	for i, one := range []namedState{from, to} {
		if files[i], err = o.read(c, target, one); err != nil {
			return err
		}
	}
	changes := changesOf(files[0], files[1])
	s := screenOf(c)
	fmt.Fprintf(o.output.aside(s), "from %s (%s) to %s (%s):\n", from.name, from.note, to.name, to.note)
	err = o.output.print(s, changes, func() error {
		if len(changes) == 0 {
			s.note("the files are equal")
			return nil
		}
		t := s.table("CHANGE", "FILE", "FROM", "TO")
		for _, one := range changes {
			t.row(one.Change, one.File, one.From, one.To)
		}
		return t.print()
	})
	if err == nil && len(changes) > 0 {
		err = silentError(exitFailed)
	}
	return err
}

// empty is the state of a generation without content.
//
//nolint:gochecknoglobals // a constant of a type that cannot be one
var empty = namedState{name: "current", note: "generation 0, which is empty"}

// comparedStates returns the two states that are compared.
func comparedStates(seen people.State, named []string) (from, to namedState, err error) {
	from = empty
	if len(named) > 0 || number(seen) > 0 {
		if from, err = choose(seen, append(named, "current")[0]); err != nil {
			return from, to, err
		}
	}
	if len(named) > 1 {
		to, err = choose(seen, named[1])
		return from, to, err
	}
	if to, found := decidedState(statesOf(seen), from); found {
		return from, to, nil
	}
	return from, to, fmt.Errorf("JobWorkspace %s/%s has no second state to compare with", seen.Namespace, seen.Name)
}

// decidedState returns the state that a decision may be about, or for want of one another than from.
func decidedState(all []namedState, from namedState) (to namedState, found bool) {
	for _, one := range all {
		if one.name == "checkpoint" || one.name == "store" {
			return one, true
		}
	}
	for _, one := range slices.Backward(all) {
		if one.orphan && !one.discarded {
			return one, true
		}
	}
	at := slices.IndexFunc(all, func(one namedState) bool { return one.key != from.key })
	if at < 0 {
		return namedState{}, false
	}
	return all[at], true
}

// stateFile is a file, folder or link of a state.
type stateFile struct {
	mode    fs.FileMode
	content []byte
}

// String describes a file.
func (f stateFile) String() string {
	switch f.mode.Type() {
	case fs.ModeDir:
		return "folder " + f.mode.Perm().String()
	case fs.ModeSymlink:
		return "link to " + string(f.content)
	default:
	}
	return fmt.Sprintf("%d bytes %s", len(f.content), f.mode.Perm())
}

// read returns the files of a state.
func (o *stateDiffOptions) read(c *cobra.Command, target jobTarget, one namedState) (map[string]stateFile, error) {
	files := map[string]stateFile{}
	if one.key == "" {
		return files, nil
	}
	folder, err := os.MkdirTemp("", "orcon-state-")
	if err != nil {
		return nil, fmt.Errorf("cannot read state %s: %w", one.name, err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the folder is a temporary one
	if err := target.fetch(c.Context(), one, folder); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it is only read
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		file, err := readStateFile(root, name, entry)
		files[name] = file
		return err
	})
	return files, err
}

// readStateFile returns one file.
func readStateFile(root *os.Root, name string, entry fs.DirEntry) (stateFile, error) {
	info, err := entry.Info()
	if err != nil {
		return stateFile{}, err
	}
	file := stateFile{mode: info.Mode()}
	switch info.Mode().Type() {
	case fs.ModeDir:
	case fs.ModeSymlink:
		text, err := root.Readlink(name)
		file.content = []byte(text)
		return file, err
	default:
		file.content, err = root.ReadFile(name)
	}
	return file, err
}

// changesOf returns the differences of two states, by name.
func changesOf(from, to map[string]stateFile) []changedFile {
	all := maps.Clone(from)
	maps.Copy(all, to)
	changes := []changedFile{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		before, was := from[name]
		after, is := to[name]
		switch {
		case !was:
			changes = append(changes, changedFile{Change: "added", File: name, To: after.String()})
		case !is:
			changes = append(changes, changedFile{Change: "removed", File: name, From: before.String()})
		case before.mode != after.mode || !bytes.Equal(before.content, after.content):
			changes = append(changes, changedFile{Change: "changed", File: name, From: before.String(), To: after.String()})
		}
	}
	return changes
}
