package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// ask returns nil if the user answers a question with yes. An interrupt ends the question.
func ask(c *cobra.Command, question string) error {
	fmt.Fprintf(c.ErrOrStderr(), "%s [y/N] ", question)
	answer, err := readLine(c.Context(), c.InOrStdin())
	switch {
	case c.Context().Err() != nil:
		fmt.Fprintln(c.ErrOrStderr())
		return interrupted("nothing was changed")
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	if yes := strings.ToLower(strings.TrimSpace(answer)); yes != "y" && yes != "yes" {
		return errors.New("nothing was changed: answer y, or use --yes")
	}
	return nil
}

// readLine reads one line, until ctx ends.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
