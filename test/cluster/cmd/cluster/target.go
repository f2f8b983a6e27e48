package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

// defaultName is the cluster of commands that name none.
const defaultName = "default"

// target says which cluster a command is about.
type target struct {
	name string
	dir  string
}

// flags adds --name and --dir to a command.
func (t *target) flags(c *cobra.Command, name string) {
	c.Flags().StringVar(&t.name, "name", name, "the cluster's name")
	c.Flags().StringVar(&t.dir, "dir", "", "the cluster's folder (default $TMPDIR/orcon-cluster-NAME)")
}

// folder returns the folder the flags mean.
func (t *target) folder() (state.Dir, error) {
	byName, err := state.DirFor(t.name)
	if err != nil {
		return "", err
	}
	if t.dir != "" {
		return state.ParseDir(t.dir)
	}
	return state.ParseDir(string(byName))
}

// live returns the record of a cluster whose supervisor runs.
func (t *target) live() (state.Record, error) {
	d, err := t.folder()
	if err != nil {
		return state.Record{}, err
	}
	r, err := state.Load(d)
	if err != nil && !errors.Is(err, state.ErrNoCluster) {
		return state.Record{}, err
	}
	if err != nil {
		return state.Record{}, fmt.Errorf("%w; bring it up with `cluster up --name %s`", err, t.name)
	}
	if !r.Supervisor.Alive() {
		return state.Record{}, fmt.Errorf("cannot use cluster %q: its supervisor has died; use `cluster down --name %s`, then up again", t.name, t.name)
	}
	return r, nil
}

// programs is the folder this program was built into, with kube beside it.
func programs() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot find own program: %w", err)
	}
	return filepath.Dir(self), nil
}

// environ is the environment of a command that talks to the cluster.
func environ(r state.Record) []string {
	return append(os.Environ(),
		"KUBECONFIG="+r.Dir.Kubeconfig(),
		"PATH="+r.Dir.Programs()+":"+os.Getenv("PATH"),
	)
}
