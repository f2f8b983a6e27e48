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
		Long: `sim plays scenarios: it applies manifests, starts and ends pods, runs handlers, lets time pass, and
compares the result with what the file expects. The same code as in a cluster decides which
applications are related, which events a unit receives and who may write.

A scenario is a text file in txtar form: the steps, one a line, and then the files that they name.
"#" begins a comment, and ">" a line that the step above must print; "…" at its beginning or end
stands for any text. Files below handlers/APPLICATION/ are the handlers of that application, named
like Juju's hooks. They are written in a part of sh: tools, variables, $( ), [ ], if, for, && and ||.

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

Complete Kubernetes manifests work too.

Exit codes: 0 every scenario went as expected, 1 one did not, 2 one cannot be read.`,
		Example: `  orcon sim shop.txtar
  orcon sim --trace shop.txtar      # everything that happens, with its time
  orcon sim --steps                 # all kinds of steps`,
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 && !o.steps {
				return errors.New("name a scenario, or see orcon sim --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, files []string) error { return o.run(c, files) },
	}
	c.Flags().BoolVar(&o.trace, "trace", false, "print everything that happens")
	c.Flags().BoolVar(&o.steps, "steps", false, "print all kinds of steps")
	return c
}

// run plays every file, also after one that cannot be read.
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
		var trace func(string)
		if o.trace {
			trace = func(line string) { fmt.Fprintln(c.OutOrStdout(), line) }
		}
		if err := simulation.Run(s, trace); err != nil {
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
