// Command job-runner carries out one run of a template. Its two parts are containers of one pod: the keeper, which keeps
// the state and alone has the run's token, and the shim, which starts the template. On a machine outside of the cluster it
// is the agent, which has the keepers of all runs there.
//
// What must not come in: decisions and loops; they are controller/keeper's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// version is set when the binary is linked.
var version = "development"

const usage = `job-runner carries out one run of a template.

Usage:
  job-runner keeper [flags]                      keep the state of the run: claim it, restore
                                                 the state, store checkpoints, capture the state
                                                 when the template has ended, and record the end
  job-runner shim [flags] -- COMMAND [ARGUMENTS] run the template when the keeper lets it start,
                                                 and exit with its exit code when the keeper has
                                                 recorded the end
  job-runner install FILE                        copy the program to FILE, for the container of
                                                 another image
  job-runner unpack FOLDER                       copy /work of the image to FOLDER/work, and its
                                                 users to FOLDER/passwd and FOLDER/group, with the
                                                 one that the template runs as
  job-runner agent [flags]                       carry out the runs that are offered to this
                                                 machine, a RunNode, by its Docker engine
  job-runner selftest CHECK                      be the program by which a machine tests itself
  job-runner version                             print the version

The controller writes these command lines into the pod of a run; that of the agent is for a machine
outside of the cluster:

  job-runner agent --join /etc/orcon/token

Exit codes:
  0 to 63  of the template (shim), or 0 for a run whose end is recorded (keeper)
  64       the template could not be executed
  65       the keeper did not let the template start: its log has the reason
  66       the container ended before its process reported an exit code
  67       the command line is wrong
  68       the end of the run is not recorded: the keeper could not, and its log has the
           reason, or no keeper was there (shim)
  128 + N  signal N ended the template

See job-runner keeper --help, shim --help and agent --help for the flags.
`

// useCommand is the cure of a command that is not known.
const useCommand = "use keeper, shim, agent, install, unpack, selftest or version"

func main() {
	code, err := run(context.Background(), os.Args[1:], os.Stdout)
	glog.Flush()
	if err != nil {
		fmt.Fprintln(os.Stderr, "job-runner:", err)
	}
	os.Exit(code)
}

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, out io.Writer) (int, error) {
	_ = flag.Set("logtostderr", "true") // glog's
	if len(args) == 0 {
		return contract.Misused, errors.New("a command is missing: " + useCommand + "; see job-runner --help")
	}
	switch command := args[0]; command {
	case "keeper":
		return runKeeper(ctx, args[1:], out)
	case "shim":
		return runShim(ctx, args[1:], out)
	case "agent":
		return runAgent(ctx, os.Geteuid(), args[1:], out)
	case "install":
		return runInstall(args[1:])
	case "unpack":
		return runUnpack(args[1:])
	case selftestCommand:
		return selftest.Main(args[1:], out, os.Stderr), nil
	case "version":
		_, err := fmt.Fprintln(out, version)
		return contract.Success, err
	case "help", "-h", "-help", "--help":
		_, err := fmt.Fprint(out, usage)
		return contract.Success, err
	default:
		cure := useCommand
		if near := spelling.Nearest(command, []string{"keeper", "shim", "agent", "install", "unpack", selftestCommand, "version"}); near != "" {
			cure = fmt.Sprintf("did you mean %q?", near)
		}
		return contract.Misused, fmt.Errorf("unknown command %q: %s", command, cure)
	}
}

// flagsOf returns the flags of a command, which print their help to out.
func flagsOf(command, arguments string, out io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet("job-runner "+command, flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprintf(out, "Usage:\n  job-runner %s [flags]%s\n\nFlags:\n", command, arguments)
		flags.PrintDefaults()
	}
	return flags
}

// misused returns the exit code of a command line that cannot be read.
func misused(err error) (int, error) {
	if errors.Is(err, flag.ErrHelp) {
		return contract.Success, nil
	}
	return contract.Misused, err
}

// required returns an error that names the flags without a value.
func required(flags *flag.FlagSet, names ...string) error {
	var missing []error
	for _, name := range names {
		if f := flags.Lookup(name); f.Value.String() == "" {
			missing = append(missing, fmt.Errorf("flag --%s is missing: %s", name, f.Usage))
		}
	}
	return errors.Join(missing...)
}
