package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
)

// fleetPlanOptions are the flags of fleet plan.
type fleetPlanOptions struct {
	fleetOptions

	clusterOptions

	base, chartBase string
	live            bool
	output          output
}

// fleetPlanHelp describes fleet plan.
const fleetPlanHelp = `fleet plan renders two versions of the data, and prints how they differ: for each integration and
namespace the objects that are new, changed or removed, field by field. Values of Secrets are hidden. Without --live it
does not read a cluster: conflicts, permissions, admission, and the names that pods need, stay unverified.

--base names the version before the change: a folder, the address of a source, or a revision of the git
repository that the folder of --data lies in: a branch, a tag, a commit, HEAD~1. The work tree stays as
it is; what is not committed there belongs to the change. A chart in the same repository is read at this
revision too, so that a change of both shows what both bring about together. Every other chart renders
both versions. --chart-base chooses another one.

Notes that the data had before are left out.

--live plans the members for the cluster of the kubeconfig, by dry runs with the rights of the set's account,
as the bundle controller would, and writes nothing. --name and --namespace name the set, whose values,
parameters, environments and account count; flags win over them. For each member it shows what changes
in the cluster, conflicts with other managers, refusals of the API server, and ConfigMaps, Secrets,
ServiceAccounts and keys that pods name and that neither a member nor the namespace has. The permissions
that the account lacks follow for all members together; -o roles prints no more than Roles that give them.
With --base, only members that the change concerns are planned; without it all, and those that the data no
longer declare. To act as the account, you need ClusterRole orcon-bundle-account in the namespace of the
set; without it, your own rights count, and those of the account are unverified.

Exit codes: 0 nothing changes, 1 something does, 2 the data have errors, the cluster would stop a member, or
the command failed.`

func newFleetPlan() *cobra.Command {
	var o fleetPlanOptions
	c := &cobra.Command{
		Use:   "plan CHART",
		Short: "Show what a change of data files changes, also in a cluster",
		Long:  fleetPlanHelp,
		Example: `  orcon fleet plan chart/ --data data/ --base origin/main
  orcon fleet plan chart/ --data data/ --base /tmp/data-before
  orcon fleet plan chart/ --data data/ --live --name stage -n fleet
  orcon fleet plan chart/ --data data/ --live --name stage -n fleet -o roles | kubectl apply -f -
  orcon fleet plan chart/ --data data/ --base 'git+https://git.example.org/data.git@main' --track -o markdown`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.fleetOptions.flags(c)
	o.clusterOptions.flags(c)
	c.Flags().BoolVar(&o.live, "live", false, "plan for the cluster of the kubeconfig, by the set that --name and --namespace name")
	c.Flags().StringVar(&o.base, "base", "",
		"data before the change: a revision of the repository of --data, such as origin/main, or a source")
	c.Flags().StringVar(&o.chartBase, "chart-base", "",
		"chart before the change: a revision of its repository, or a source (default: at --base, if it lies in the repository of --data)")
	o.output.flag(c, asTable, asMarkdown, asJSON, asYAML, asRoles)
	return c
}

// plannedMember describes the changes of a member, as fleet plan prints them.
type plannedMember struct {
	Environment string          `json:"environment"`
	Namespace   string          `json:"namespace"`
	Integration string          `json:"integration"`
	Declared    string          `json:"declared"`
	Objects     []plannedObject `json:"objects"`
	// Unverified lists the questions that only a cluster answers; empty if it was asked.
	Unverified []string `json:"unverified,omitempty"`
	// Cluster is nil if no cluster was asked.
	Cluster *livePlan `json:"cluster,omitempty"`

	title string
}

// plannedObject describes the change of an object.
type plannedObject struct {
	shownDifference

	// Effect is the effect of a change that is more than an update; "" for others.
	Effect string `json:"effect,omitempty"`
}

// String describes the change in words.
func (o plannedObject) String() string {
	if o.Effect == "" {
		return o.What
	}
	return o.What + ": " + o.Effect
}

// garbage bounds the garbage of a plan, in percent of its live memory: thousands of renderings make much and keep none.
const garbage = 300

// check refuses flags that lack others.
func (o *fleetPlanOptions) check() error {
	switch {
	case o.base == "" && !o.live:
		return errors.New("cannot compare: name the data before the change with --base, such as --base origin/main, or use --live to " +
			"compare with a cluster")
	case o.output.format == asRoles && !o.live:
		return errors.New("cannot tell which permissions are missing without a cluster: use -o roles with --live")
	}
	return nil
}

func (o *fleetPlanOptions) run(c *cobra.Command, source string) error {
	if err := o.check(); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	live, err := o.cluster(c.Context())
	if err != nil {
		return err
	}
	chart, err := o.chart(c, source)
	if err != nil {
		return err
	}
	comparison, err := o.comparison(c, source, chart, live)
	if err != nil {
		return err
	}
	s := screenOf(c)
	o.noteEnvironments(s, comparison.after)
	planned, notes := comparison.plan(c.Context(), s)
	wrong := comparison.after.wrong()
	rights := live.rights(planned)
	if err := o.print(s, rights, planned, notes); err != nil || wrong != nil {
		return errors.Join(wrong, err)
	}
	return ended(rights, planned)
}

// ended returns the error by which a plan ends.
func ended(r liveRights, planned []plannedMember) error {
	changed, stopped, partial := 0, 0, 0
	for _, m := range planned {
		if len(m.Objects) > 0 {
			changed++
		}
		if m.Cluster.stops() {
			stopped++
		}
		if m.Cluster.partial() {
			partial++
		}
	}
	switch {
	case stopped > 0:
		return fmt.Errorf("members that the cluster would stop: %d; members that change: %d", stopped, changed)
	case partial > 0:
		return fmt.Errorf("members that could not be compared, since you may not read them: %d; members that change: %d", partial, changed)
	case r.lacking != nil:
		return errors.New("the account of the set lacks permissions")
	case changed > 0:
		return failedError{fmt.Errorf("members that change: %d", changed)}
	}
	return nil
}

// comparison reads both versions. Without --base, the members that live has are the version before the change.
func (o *fleetPlanOptions) comparison(c *cobra.Command, source string, chart *render.Prepared, live *fleetLive) (fleetComparison, error) {
	files, err := o.fetchData(c, o.data)
	if err != nil {
		return fleetComparison{}, err
	}
	if o.base == "" {
		after, err := o.version(chart, o.data, files)
		compared := newFleetComparison(live.version(), after)
		compared.live = live
		return compared, err
	}
	base, err := o.before(c, source, chart)
	if err != nil {
		return fleetComparison{}, err
	}
	var before, after fleetVersion
	var wrongBase, wrong error
	var both sync.WaitGroup
	both.Go(func() { before, wrongBase = o.version(base.chart, base.name, base.files) })
	both.Go(func() { after, wrong = o.version(chart, o.data, files) })
	both.Wait()
	compared := newFleetComparison(before, after)
	compared.live = live
	return compared, errors.Join(wrongBase, wrong)
}
