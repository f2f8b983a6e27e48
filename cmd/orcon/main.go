// Command orcon is Orcon's command line: it shows and checks the relations of a cluster, plays
// scenarios without one, shows what the webhook does to a manifest, and installs bundles.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // not to log: Helm writes warnings by this package
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// version is set when the binary is built.
var version = "development"

func main() {
	log.SetFlags(0)
	log.SetPrefix("note: ")
	// The first interrupt ends the work in order, the second one the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run carries out one command line, which begins with the program's name, and returns
// the exit code. When ctx ends, so does the work.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot(calledAs(args[0]))
	root.SetArgs(args[1:])
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	text, code := explain(ctx, err)
	if text != "" {
		fmt.Fprint(errs, wrapLines("orcon: "+text, columns(errs)))
	}
	return code
}

// calledAs returns the words by which a user calls the program: a kubectl plugin is a file whose
// name begins with kubectl-.
func calledAs(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".exe")
	if plugin, is := strings.CutPrefix(name, "kubectl-"); is {
		return "kubectl " + plugin
	}
	return "orcon"
}

// newRoot returns the command orcon; name is how the user calls it.
func newRoot(name string) *cobra.Command {
	c := &cobra.Command{
		Use:   "orcon",
		Short: "Relations between services and bundles on plain Kubernetes, from the command line",
		Long: `orcon is Orcon's command line. It works on the cluster that kubectl would use; sim, inject,
uninject, render, fleet render, fleet plan, add, health and the built-in part of interfaces need no cluster.

Exit codes: 0 done, 1 the answer is no (see the help of each command), 2 the command failed,
130 interrupted. Commands that change a cluster also end with 3, there was not enough time, and
4, an object that Orcon does not manage is in the way, or a policy refuses.`,
		Example: `  orcon status -n shop
  orcon add consumer deployment.yaml --interface postgresql_client --to db
  orcon install deploy/ --name shop -n shop
  orcon check`,
		SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Version:     version,
		Args:        knownCommand,
		RunE:        func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SetVersionTemplate("orcon {{.Version}}\n")
	c.SetFlagErrorFunc(knownFlag)
	screenFlags(c)
	addGroup(c, "relations", "Relations:", newStatus(), newEnds(), newAdd(),
		newInterfaces(), newOffer(), newRecord(), newInject(), newUninject(), newSim())
	addGroup(c, "bundles", "Bundles:",
		newList(), newRender(), newPlan(), newInstall(), newDiff(), newHistory(), newRollback(), newUninstall(), newApprove(),
		newPause(), newResume(), newHealth())
	addGroup(c, "fleets", "Fleets:", newFleet())
	addGroup(c, "jobs", "Stateful runs:", newJob())
	addGroup(c, "cluster", "Cluster and command line:", newCheck(), newCertificates(), newLeave(), newRelease(), newVersion())
	c.SetHelpCommandGroupID("cluster")
	c.SetCompletionCommandGroupID("cluster") // before the command exists, or it has no effect
	c.InitDefaultHelpCmd()
	c.InitDefaultCompletionCmd()
	refuseUnknownWords(c)
	called(c, name)
	return c
}

// addGroup adds commands under a title of the root's help.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// knownCommand refuses an unknown command, with the nearest ones.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	suggested := ""
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		suggested = fmt.Sprintf(" (did you mean %s?)", orList(near))
	}
	return fmt.Errorf("unknown command %q%s: see %s --help", args[0], suggested, c.CommandPath())
}

// knownFlag refuses a flag that a command does not have, with the nearest one, or a wrong value. What follows an unknown
// command is none of its flags: the command is refused.
func knownFlag(c *cobra.Command, err error) error {
	if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
		if unknown := c.ValidateArgs(words); unknown != nil {
			return unknown
		}
	}
	if wrong, is := errors.AsType[*pflag.InvalidValueError](err); is {
		err = wrongValue(wrong)
	}
	suggested := ""
	if unknown, is := errors.AsType[*pflag.NotExistError](err); is {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := spelling.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			suggested = fmt.Sprintf(" (did you mean --%s?)", near)
		}
	}
	return fmt.Errorf("%w%s: see %s --help", err, suggested, c.CommandPath())
}

// wrongValue returns the error of a flag's value, which names what is expected.
func wrongValue(wrong *pflag.InvalidValueError) error {
	flag := wrong.GetFlag()
	expected := map[string]string{
		"duration": "a duration, such as 30s, 10m or 1h30m", "int": "a whole number", "bool": "true or false",
	}[flag.Value.Type()]
	if expected == "" {
		return wrong
	}
	return fmt.Errorf("--%s %q is not %s", flag.Name, wrong.GetValue(), expected)
}

// refuseUnknownWords makes help and completion, which cobra adds, refuse words that they do not know.
func refuseUnknownWords(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, words []string) error {
				found, rest, err := root.Find(words)
				if err == nil && found.HasSubCommands() {
					err = knownCommand(found, rest)
				}
				return err
			}
		case "completion":
			c.Args = knownCommand
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
			c.SuggestionsMinimumDistance = root.SuggestionsMinimumDistance
		}
	}
}

// called writes the examples of all commands as the user calls the program.
func called(c *cobra.Command, name string) {
	c.Example = strings.ReplaceAll("\n"+c.Example, "\n  orcon ", "\n  "+name+" ")[1:]
	for _, below := range c.Commands() {
		called(below, name)
	}
}
