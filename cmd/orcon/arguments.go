package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// arguments refuses arguments other than those that the command's Use names before its flags; one
// in brackets is optional. The error ends with the command's first example.
func arguments(c *cobra.Command, args []string) error {
	names := positional(c.Use)
	example, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
	if len(args) > len(names) {
		return fmt.Errorf("unexpected argument %q: example: %s", args[len(names)], example)
	}
	if rest := names[len(args):]; len(rest) > 0 && !strings.HasPrefix(rest[0], "[") {
		return fmt.Errorf("%s is missing: example: %s", rest[0], example)
	}
	return nil
}

// positional returns the words of a usage line between the command and its flags, which may be in brackets.
func positional(use string) []string {
	words := strings.Fields(use)[1:]
	for i, word := range words {
		if strings.HasPrefix(strings.TrimPrefix(word, "["), "-") {
			return words[:i]
		}
	}
	return words
}

// exclude refuses a command line that names a flag together with one of the others.
func exclude(c *cobra.Command, flag string, others ...string) {
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		for _, other := range others {
			if c.Flags().Changed(flag) && c.Flags().Changed(other) {
				return fmt.Errorf("cannot use --%s with --%s: leave one of them out: see %s --help", flag, other, c.CommandPath())
			}
		}
		return nil
	}
}
