package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/schema"
)

func newFleetSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of a kind of data file, or list the kinds",
		Long: `fleet schema prints the JSON Schema of a kind of data file, for editors. Files of schema
/app-sre/integration-1.yml have kind integration-1. Without KIND the kinds are listed.

An editor checks a file by its first line:

    # yaml-language-server: $schema=../schemas/integration-1.json

The schema allows unknown fields in a spec, because a chart may add some; orcon fleet render checks
them.`,
		Example: `  orcon fleet schema
  orcon fleet schema integration-1 >schemas/integration-1.json`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, name := range schema.Names() {
					fmt.Fprintln(c.OutOrStdout(), name)
				}
				return nil
			}
			text, there := schema.Find(args[0])
			if !there {
				return fmt.Errorf("no kind of data file is called %q: %s", args[0], data.Suggest(args[0], schema.Names()))
			}
			_, err := c.OutOrStdout().Write(text)
			return err
		},
	}
}
