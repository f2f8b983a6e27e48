package main

import (
	"context"
	"strings"

	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// tailLines is the number of lines of a log that are shown, and tailWidth that of characters of a line.
const (
	tailLines = 10
	tailWidth = 300
)

// tails returns what reads the last lines of a log. There are none where the user may not read it, or it
// is gone with its pod.
func tails(ctx context.Context, config *rest.Config) func(bundle.Log) []string {
	return func(l bundle.Log) []string {
		text, err := cluster.Tail(ctx, config, l, tailLines)
		if err != nil {
			return nil
		}
		return printable(text)
	}
}

// printable returns the lines of a log that are shown.
func printable(text string) []string {
	var lines []string
	for line := range strings.Lines(visible(text)) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			lines = append(lines, shorten(line, tailWidth))
		}
	}
	return lines
}
