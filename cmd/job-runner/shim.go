package main

import (
	"context"
	"errors"
	"io"
	"path"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/shim"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// runShim runs the template and returns its exit code.
func runShim(ctx context.Context, args []string, out io.Writer) (int, error) {
	flags := flagsOf("shim", " -- COMMAND [ARGUMENTS]", out)
	folder := flags.String("exchange", "/orcon/exchange", "`folder` that keeper and shim share")
	work := flags.String("work", contract.Work, "working `folder` of the template")
	grace := flags.Duration("grace", 2*time.Minute, "`time` between SIGTERM and SIGKILL if the container is stopped")
	patience := flags.Duration("patience", 10*time.Minute, "`time` that an ended template waits for a keeper where none lives")
	hold := flags.Duration("hold", 0, "`time` that the container is kept if the template fails; 0 for not at all")
	backend := flags.String("backend", "", "`address` on loopback that is forwarded to the keeper's Terraform state; none by default")
	rescue := shim.Rescue{}
	flags.StringVar(&rescue.State, "state", contract.State, "`folder` of the state")
	flags.Func("rescue", "`pattern` of files of the working folder to keep with the state; may be repeated", func(pattern string) error {
		rescue.Patterns = append(rescue.Patterns, pattern)
		_, err := path.Match(pattern, "")
		return err
	})
	if err := flags.Parse(args); err != nil {
		return misused(err)
	}
	if flags.NArg() == 0 {
		return contract.Misused, errors.New("the template's command is missing: write it after --")
	}
	s := shim.Shim{
		Exchange: exchange.Folder(*folder), Command: flags.Args(), Folder: *work, Grace: *grace, Patience: *patience, Rescue: rescue,
		Failure: shim.Failure{Hold: *hold}, Clock: keeper.BootTime,
	}
	if *backend != "" {
		listener, err := shim.Forward(ctx, s.Exchange, *backend)
		if err != nil {
			return contract.Refused, err
		}
		defer listener.Close() //nolint:errcheck // it ends with the process
	}
	return s.Run(ctx)
}
