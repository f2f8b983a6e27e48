package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// jobLogsOptions are the flags of job logs.
type jobLogsOptions struct {
	jobOptions

	follow  bool
	since   time.Duration
	attempt int
	file    string
	// workspace is the JobWorkspace of a run whose object is gone.
	workspace string
}

func newJobLogs() *cobra.Command {
	var o jobLogsOptions
	c := &cobra.Command{
		Use:   "logs RUN",
		Short: "Print the log of a run, also long after its pod is gone",
		Long: `job logs prints what the program of a run wrote to standard output and standard error, from the store of the
job controller. A line [orcon: N bytes of stdout are missing here] stands for what could not be stored.

Without --attempt it prints the last attempt of the run. --follow waits for a run that has not started, and ends
when the run has ended. On a terminal, control characters are left out. --file prints a file that the program
wrote below /logs; one that does not exist is an error that lists those that do.

Ten runs of a JobWorkspace stay as objects; older ones have their logs still: name the JobWorkspace with --workspace.

It needs the permission get of jobruns/log in API group jobs.orcon.tengu.io, which the cluster role view has.

Exit codes: 0 printed, 2 the command failed, 130 interrupted.`,
		Example: `  orcon job logs web-x7k2p -n shop
  orcon job logs web-x7k2p -n shop -f
  orcon job logs web-x7k2p -n shop --since 10m
  orcon job logs web-x7k2p -n shop --attempt 1 > first.log
  orcon job logs web-x7k2p -n shop --file /logs/ansible.log
  orcon job logs web-a3f9c -n shop --workspace web`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.ValidArgsFunction = o.complete("JobRun")
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on until the run has ended")
	c.Flags().DurationVar(&o.since, "since", 0, "leave out what was stored earlier than this (default: nothing)")
	c.Flags().IntVar(&o.attempt, "attempt", 0, "number of an attempt, from 1 (default: the last one)")
	c.Flags().StringVar(&o.file, "file", "", "/logs/PATH of a file to print (default: standard output and error)")
	c.Flags().StringVar(&o.workspace, "workspace", "", "JobWorkspace of the run, for one that orcon job runs lists with --past only")
	return c
}

func (o *jobLogsOptions) run(c *cobra.Command, name string) error {
	target, err := o.find(name)
	if err != nil {
		return err
	}
	return o.print(c.Context(), screenOf(c), target)
}

// print prints the log of a run.
func (o *jobLogsOptions) print(ctx context.Context, s screen, target jobTarget) error {
	request, err := target.request("GET", people.Runs, people.Log, true)
	if err != nil {
		return err
	}
	request = request.Param(people.Follow, strconv.FormatBool(o.follow))
	if o.since != 0 {
		request = request.Param(people.Since, o.since.String())
	}
	if o.attempt != 0 {
		request = request.Param(people.Attempt, strconv.Itoa(o.attempt))
	}
	if o.workspace != "" {
		request = request.Param(people.Of, o.workspace)
	}
	if o.file != "" {
		request = request.Param(people.File, o.file)
	}
	text, err := request.Stream(ctx)
	if err != nil {
		return fmt.Errorf("cannot print the log of JobRun %s: %w", target, ofJobs(err))
	}
	defer text.Close() //nolint:errcheck // it is only read
	out := shownLog(s)
	_, err = io.Copy(out, text)
	if shown, cleaned := out.(*visibleLines); cleaned {
		err = errors.Join(err, shown.end())
	}
	if err != nil {
		return fmt.Errorf("the log of JobRun %s ends here: %w", target, err)
	}
	return nil
}

// shownLog returns where a log is printed: a program's output may not steer a terminal.
func shownLog(s screen) io.Writer {
	if s.width == 0 {
		return s.out
	}
	return &visibleLines{out: s.out}
}

// visibleLines writes what is visible of whole lines, and of a part of a line that lasts.
type visibleLines struct {
	out io.Writer
	// rest begins a line, or a character.
	rest []byte
}

// mostRest is how long a line may be before a part of it is written.
const mostRest = 4 << 10

// Write implements io.Writer.
func (v *visibleLines) Write(p []byte) (int, error) {
	v.rest = append(v.rest, p...)
	end := bytes.LastIndexByte(v.rest, '\n') + 1
	if len(v.rest) > mostRest {
		end = len(v.rest)
	}
	_, err := io.WriteString(v.out, visible(string(v.rest[:end])))
	v.rest = append([]byte(nil), v.rest[end:]...)
	return len(p), err
}

// end writes what is visible of the last line, which may have no end.
func (v *visibleLines) end() error {
	_, err := io.WriteString(v.out, visible(string(v.rest)))
	v.rest = nil
	return err
}
