package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/removal"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// leaveOptions are the flags of leave.
type leaveOptions struct {
	clusterOptions

	keep, end, yes bool
	timeout        time.Duration
}

func newLeave() *cobra.Command {
	var o leaveOptions
	c := &cobra.Command{
		Use:   "leave [--keep | --end]",
		Short: "Take Orcon out of a cluster, and keep or end its relations",
		Long: `leave shows what taking Orcon away means, asks, and does it.

With --keep, the default, nothing ends and no handler runs. Webhook configurations,
controllers and accounts are deleted, in this order; definitions, objects, labels and Orcon's
namespace stay. Running pods keep their files. Install Orcon again, and relations go on.

With --end, every relation ends first, and leave waits until the handlers of both sides have
handled that. It stops at ends that no unit can handle, and names them. Then all of Orcon is
deleted, with its definitions and its namespace. After an interruption, run it again.

Exit codes: 0 done, 1 no unit can handle an end, 2 failed, 3 timed out, 130 interrupted.`,
		Example: "  orcon leave\n  orcon leave --end --timeout 10m",
		Args:    arguments,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.flags(c)
	return c
}

func (o *leaveOptions) flags(c *cobra.Command) {
	clusterFlags(c, &o.kubeconfig, &o.context)
	c.Flags().BoolVar(&o.keep, "keep", false, "keep relations and all that is stored (default)")
	c.Flags().BoolVar(&o.end, "end", false, "end every relation first, and delete all that is stored")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "time limit of the work")
	exclude(c, "keep", "end")
}

func (o *leaveOptions) run(c *cobra.Command) error {
	s := screenOf(c)
	cluster, err := removable(o.clusterOptions, s)
	if err != nil {
		return err
	}
	question, show, do := "Leave, and keep everything?", showKept, keepAll
	if o.end {
		question, show, do = "End every relation, and delete all of Orcon?", o.showEnded, endAll
	}
	if err := show(c.Context(), s, cluster); err != nil {
		return err
	}
	if err := o.agree(c, question); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context(), o.timeout)
	defer cancel()
	if err := do(ctx, cluster); err != nil {
		return unfinished(c, err)
	}
	done := "what is stored stays: install Orcon again, and relations go on; while it is away, orcon release lets go of deleted objects"
	if o.end {
		done = "all of Orcon is deleted; if orcon install installed it, orcon list -A shows its record, and orcon uninstall deletes that"
	}
	s.note(done)
	return nil
}

// agree asks the user, unless that is not wanted.
func (o *leaveOptions) agree(c *cobra.Command, question string) error {
	if o.yes {
		return nil
	}
	return ask(c, question)
}

// removable returns the cluster, whose changes are printed.
func removable(o clusterOptions, s screen) (removal.Cluster, error) {
	config, _, err := o.load()
	if err != nil {
		return removal.Cluster{}, err
	}
	return removal.New(config, func(line string) { fmt.Fprintln(s.out, line) })
}

// unfinished returns the error of work that can be continued.
func unfinished(c *cobra.Command, err error) error {
	switch {
	case c.Context().Err() != nil:
		return interrupted("what is done stays; to continue, run the same command again")
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("there was not enough time: %w: what is done stays; to continue, run the same command again", err)
		return codeError{err, exitTimeout}
	case errors.Is(err, removal.ErrDeaf):
		return failedError{fmt.Errorf("cannot continue: %w\nthen run the same command again", err)}
	}
	return err
}

func keepAll(ctx context.Context, cluster removal.Cluster) error {
	return removal.Parts{Cluster: cluster}.TakePrograms(ctx)
}

func endAll(ctx context.Context, cluster removal.Cluster) error {
	parts := removal.Parts{Cluster: cluster}
	for _, do := range []func(context.Context) error{removal.Ends{Cluster: cluster}.All, parts.TakePrograms, parts.TakeRest} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// showKept prints what leaving means if everything is kept.
func showKept(ctx context.Context, s screen, cluster removal.Cluster) error {
	census, err := cluster.Census(ctx)
	if err != nil {
		return err
	}
	bundles, failed := cluster.Bundles(ctx)
	workspaces, unread := cluster.Workspaces(ctx)
	parts, err := removal.Parts{Cluster: cluster}.Programs(ctx)
	if err := errors.Join(failed, unread, err); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Relations that stay, with all that is stored of them: %d. No handler runs.\n", len(census.Relations))
	section(s, "Deleted:", parts)
	var bare, owed []string
	for _, e := range census.Bare() {
		bare = append(bare, e.Namespace+"/"+e.Application)
	}
	for _, side := range census.Owed() {
		owed = append(owed, removal.Owing(side))
	}
	section(s, "Until Orcon is back, the next pods of these start without files and variables of relations:", bare)
	section(s, "These have yet to handle the end of a relation, and do once Orcon is back:", owed)
	section(s, "These BundleDeployments stay as they are; if one is deleted, orcon release lets go of it:", bundles)
	section(s, "These JobWorkspaces stay, with their states, and their runs are stored once Orcon is back:", workspaces)
	return nil
}

// showEnded prints what leaving means if every relation ends, or returns what is in the way.
func (o *leaveOptions) showEnded(ctx context.Context, s screen, cluster removal.Cluster) error {
	census, err := cluster.Census(ctx)
	if err != nil {
		return err
	}
	if err := o.ready(ctx, cluster, census); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Relations that end, in every namespace: %d. Running pods lose their files, and namespaces their label tengu-injector.\n",
		len(census.Relations))
	told := map[bool][]string{}
	for _, side := range append(census.Told(), census.Unhandled()...) {
		told[census.Deaf(side)] = append(told[census.Deaf(side)], removal.Owing(side))
	}
	section(s, "Handlers of these run, and may delete the data of the relation:", told[false])
	section(s, "These have no unit with handlers. orcon leave ends their relations, and stops before it deletes Orcon:", told[true])
	parts := removal.Parts{Cluster: cluster}
	programs, err := parts.Programs(ctx)
	if err != nil {
		return err
	}
	rest, err := parts.Rest(ctx)
	once := slices.DeleteFunc(rest, func(name string) bool { return slices.Contains(programs, name) })
	section(s, "Deleted then, with all objects of the definitions and all that is in the namespace:", append(programs, once...))
	return err
}

// ready returns an error if relations cannot end, or if anything would be left behind. The commands that it names delete in
// this cluster, whichever is the current one where they are pasted.
func (o *leaveOptions) ready(ctx context.Context, cluster removal.Cluster, census relation.Census) error {
	for _, first := range []struct {
		list func(context.Context) ([]string, error)
		why  string
	}{
		{cluster.Sets, "%d IntegrationSets would make their members again, the first is %s: " +
			"delete them first: kubectl delete integrationsets.orcon.tengu.io --all -A%[3]s"},
		{cluster.Bundles, "only the bundle controller can delete what %d BundleDeployments deployed, the first is %s: " +
			"delete them first: kubectl delete bundledeployments.orcon.tengu.io --all -A%[3]s"},
		{cluster.Workspaces, "the states of %d JobWorkspaces would be deleted with Orcon's namespace, the first is %s: " +
			"keep what you need with orcon job state pull, then delete them: kubectl delete jobworkspaces.orcon.tengu.io --all -A%[3]s"},
		{cluster.HeldRuns, "only the job controller can end %d JobRuns, the first is %s: " +
			"delete them first: kubectl delete jobruns.orcon.tengu.io --all -A%[3]s; if it does not run, orcon release%[3]s lets them go"},
	} {
		names, err := first.list(ctx)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return fmt.Errorf("cannot leave yet: "+first.why, len(names), names[0], sameCluster(o.kubeconfig, o.context))
		}
	}
	runs, err := cluster.Runs(ctx, removal.RelationsController)
	if err == nil && !runs && len(census.Relations)+len(census.Unhandled()) > 0 {
		err = errors.New("cannot end relations: no pod of Deployment relations-controller is ready, so that no handler would run: " +
			"start it, or keep the relations: orcon leave --keep" + sameCluster(o.kubeconfig, o.context))
	}
	return err
}

// section prints a title and lines below it; nothing without lines.
func section(s screen, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprint(s.out, wrap(title, "", s.width))
	for _, line := range lines {
		fmt.Fprintln(s.out, "  "+visible(line))
	}
}
