package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/simulation"
)

// simOptions are the flags of sim.
type simOptions struct{ trace, steps bool }

func newSim() *cobra.Command {
	var o simOptions
	c := &cobra.Command{
		Use:   "sim FILE...",
		Short: "Play scenarios without a cluster",
		Long: `sim plays scenarios: manifests are applied, pods come and go, handlers run, time
passes, and what comes of it is compared with what the file expects. What relates,
who hears what and who may write is decided by the code that decides it in a cluster.

A scenario is a text file in txtar form: steps first, one a line, then the files that
they name. "#" begins a comment, ">" what the step above must give; an expected line
may begin or end with "…". Files below handlers/APPLICATION/ are its handlers, named
as Juju names hooks: sh with tools, variables, $( ), [ ], if, for, && and ||.

    # The shop asks for a database and gets one.
    apply shop.yaml
    run web/0: relation-set -r store:1 --app database=orders
    web/0 hears
    > leader-elected
    > store:1 created
    > store:1 joined db/0
    > store:1 changed db/0 +addresses
    > store:1 changed db +username
    -- shop.yaml --
    StatefulSet db: {provides: "main:pg", handlers: postgres}
    StatefulSet web: {consumes: "store:pg", relations: db, handlers: busybox}
    -- handlers/db/main-relation-changed --
    database=$(relation-get --app database "$JUJU_REMOTE_APP")
    [ -z "$database" ] || relation-set --app username="user-$database"

Manifests may be Kubernetes' own as well. Exit codes: 0 all went as expected, 1 one did
not, 2 one cannot be read.`,
		Example: `  orcon sim shop.txtar
  orcon sim --trace shop.txtar      # all that happens, with its time
  orcon sim --steps                 # the steps that there are`,
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 && !o.steps {
				return errors.New("name a scenario, or see orcon sim --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, files []string) error { return o.run(c, files) },
	}
	c.Flags().BoolVar(&o.trace, "trace", false, "print all that happens")
	c.Flags().BoolVar(&o.steps, "steps", false, "print the steps that there are")
	return c
}

// run plays each file; one that cannot be read does not keep the others from it.
func (o simOptions) run(c *cobra.Command, files []string) error {
	if o.steps {
		_, err := fmt.Fprintln(c.OutOrStdout(), strings.Join(simulation.Steps(), "\n"))
		return err
	}
	var wrong, unread []error
	for _, file := range files {
		s, err := readScenario(file)
		if err != nil {
			unread = append(unread, err)
			continue
		}
		var told func(string)
		if o.trace {
			told = func(line string) { fmt.Fprintln(c.OutOrStdout(), line) }
		}
		if err := simulation.Run(s, told); err != nil {
			wrong = append(wrong, err)
			fmt.Fprintln(c.OutOrStdout(), "FAIL", file)
			continue
		}
		fmt.Fprintln(c.OutOrStdout(), "ok  ", file)
	}
	switch {
	case len(unread) > 0:
		return errors.Join(append(unread, wrong...)...)
	case len(wrong) > 0:
		return failedError{errors.Join(wrong...)}
	default:
		return nil
	}
}

func readScenario(file string) (simulation.Scenario, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return simulation.Scenario{}, fmt.Errorf("cannot read the scenario: %w", err)
	}
	return simulation.Parse(file, text)
}
