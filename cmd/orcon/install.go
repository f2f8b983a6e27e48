package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// installOptions are the flags of install and plan.
type installOptions struct {
	sourceOptions
	deploymentOptions

	name, resume     string
	conflicts        string
	output           output
	expect           []string
	policy           string
	plan, yes, retry bool
	// reads reports that the command never writes, and shows what the user may see.
	reads bool
}

// exitCodes ends the help of each command that changes a cluster.
const exitCodes = `

Exit codes: 0 done, 2 failed (after a failed upgrade the last healthy content is back), 3 timed
out, 4 a conflict with objects of others, or a policy refuses, 130 interrupted.`

func newInstall() *cobra.Command {
	var o installOptions
	c := &cobra.Command{
		Use:   "install SOURCE --name NAME | --resume NAME",
		Short: "Install or upgrade a bundle, and roll back if that fails",
		Long: `install renders SOURCE (see orcon render --help), shows the changes, and carries them out phase by
phase, each when the phases before it are healthy. ConfigMaps and Secrets that its workloads
read and that do not exist are listed before anything is written. Objects that are no longer
part of the bundle are deleted when everything is healthy. If an object fails, or time runs
out, the last healthy content is installed again. Run install again to upgrade. After an
interruption, --resume continues from what is stored, without a source.

A content that failed before is refused until it changes, or until --retry is given. Deleting
namespaces, PVCs, PVs or CRDs, or more than ten objects at a time, requires --confirm. Secrets
orcon-bundle-NAME… of the namespace hold the record of the deployment.` + exitCodes,
		Example: `  orcon install deploy/ --name shop -n shop
  orcon install chart/ --name shop -f production.yaml --plan
  orcon install builtin:selfsigned --name orcon -n default
  orcon install deploy/ --name shop --yes --confirm PersistentVolumeClaim/data
  orcon install --resume shop -n shop`,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case o.resume == "":
				return arguments(c, args)
			case len(args) > 0:
				return errors.New("cannot resume with a SOURCE: leave it out, the stored content is used")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.resume != "" {
				return o.goOn(c)
			}
			return o.run(c, args[0])
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&o.plan, "plan", false, "show the changes only")
	c.Flags().StringVar(&o.resume, "resume", "", "name of a deployment whose interrupted installation is continued; without SOURCE and --name")
	c.Flags().BoolVar(&o.retry, "retry", false, "retry a content that failed before")
	var planned []string // by flags that the stored plan answers
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains([]string{"resume", "namespace", "kubeconfig", "context", "timeout"}, f.Name) {
			planned = append(planned, f.Name)
		}
	})
	exclude(c, "resume", planned...)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	return c
}

func newPlan() *cobra.Command {
	o := installOptions{plan: true, reads: true}
	c := &cobra.Command{
		Use:   "plan SOURCE --name NAME",
		Short: "Show the changes that installing a bundle would make",
		Long: `plan shows what install would change, field by field, by dry runs of the API server, and writes
nothing. Values of Secrets are hidden. Permissions that the plan grants are summed up by
account; -v lists each.

It needs get on the objects, and on the Secrets orcon-bundle-NAME… that hold the record. Without
the permission to change an object, it is compared without a dry run, and the plan ends with
the permissions that carrying it out needs. What you may not read is named, also with -q, and
counts as unchanged.

Exit codes: 0 planned, 2 failed, 4 a conflict with objects of others, or a policy refuses.`,
		Example: `  orcon plan deploy/ --name shop -n shop
  orcon plan deploy/ --name shop -o json | jq '.actions[] | select(.verb == "delete")'
  orcon plan deploy/ --name shop -o html > plan.html
  orcon plan deploy/ --name shop --policy no-deletions.yaml`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	return c
}

func (o *installOptions) flags(c *cobra.Command) {
	o.sourceOptions.flags(c)
	o.deploymentOptions.flags(c)
	c.Flags().StringVar(&o.name, "name", "", "name of the deployment (required)")
	c.Flags().StringVar(&o.conflicts, "conflicts", string(bundle.Prevent),
		"what happens to existing objects of others: Prevent, AdoptUnowned or Take")
	_ = c.RegisterFlagCompletionFunc("conflicts", cobra.FixedCompletions(
		[]cobra.Completion{string(bundle.Prevent), string(bundle.AdoptUnowned), string(bundle.TakeAll)}, cobra.ShellCompDirectiveNoFileComp))
	c.Flags().StringArrayVar(&o.expect, "expect", nil,
		"KIND/NAME of a ConfigMap, Secret or ServiceAccount that is created during the installation")
	c.Flags().StringVar(&o.policy, "policy", "", "YAML file with rules in CEL that the plan has to satisfy: a list of {name, "+
		"expression, message}")
	o.output.flag(c, asTable, asJSON, asYAML, asHTML)
}

func (o *installOptions) run(c *cobra.Command, source string) error {
	ctx := c.Context()
	rules, err := readPolicy(o.policy)
	if err != nil {
		return err
	}
	d, wish, err := o.wish(c, source)
	if err != nil {
		return err
	}
	p, err := o.show(ctx, c, d, wish, rules)
	if err != nil || o.plan {
		return err
	}
	approval, err := o.approve(p)
	if err != nil {
		return coded(err)
	}
	if !o.yes && p.Changes() {
		if err := d.sure(ctx, c, p, wish); err != nil {
			return coded(err)
		}
	}
	err = d.Install(ctx, p, wish, approval)
	if errors.Is(err, bundle.ErrQuarantined) {
		err = fmt.Errorf("%w: change the bundle, or retry it with --retry", err)
	}
	return d.end(o.output.aside(screenOf(c)), err)
}

// wish returns the deployment, and what the source means there.
func (o *installOptions) wish(c *cobra.Command, source string) (*deployed, engine.Wish, error) {
	conflicts, err := bundle.ParseConflictPolicy(o.conflicts)
	if err != nil {
		return nil, engine.Wish{}, fmt.Errorf("cannot use --conflicts: %w", err)
	}
	connect := o.change
	if o.plan {
		connect = o.connect
	}
	d, err := connect(c, o.name)
	if err != nil {
		return nil, engine.Wish{}, err
	}
	d.world.ReadOnly, d.Conflicts = o.reads, conflicts
	o.Name, o.Namespace = o.name, d.namespace
	rendered, _, err := o.render(c, source)
	if err != nil {
		return nil, engine.Wish{}, err
	}
	wish, err := d.wish(rendered.Objects)
	wish.Conflicts, wish.Retry = conflicts, o.retry
	return d, wish, err
}

// show plans and prints that. What the policy refuses is an error, and where showing is all,
// what is in the way too.
func (o *installOptions) show(ctx context.Context, c *cobra.Command, d *deployed, wish engine.Wish, rules *policy.Policy) (bundle.Plan, error) {
	p, err := d.Plan(ctx, wish)
	if err != nil {
		return p, coded(o.readable(ctx, d, err, d.Record().Begun().Number))
	}
	s := screenOf(c)
	d.busy(s)
	defer d.withheld(s)
	p.Refused = rules.Refusals(p.Preview())
	if err := o.print(s, p); err != nil {
		return p, err
	}
	if err := o.configured(ctx, c, d, p); err != nil {
		return p, err
	}
	if err := bundle.Allowed(p.Refused); err != nil {
		return p, coded(err)
	}
	if o.plan {
		return p, coded(p.Blocked())
	}
	return p, nil
}

// print prints a plan in the format of --output. JSON and YAML leave out the objects themselves:
// they hold what Secrets hold.
func (o *installOptions) print(s screen, p bundle.Plan) error {
	if o.output.format == asHTML {
		return printPage(s.out, p)
	}
	return o.output.print(s, p.Preview(), func() error { return printPlan(s, p, o.confirm) })
}

// sure asks the user, and then whether that is still what would be done.
func (d *deployed) sure(ctx context.Context, c *cobra.Command, p bundle.Plan, wish engine.Wish) error {
	if err := ask(c, "Do this?"); err != nil {
		return err
	}
	now, err := d.Plan(ctx, wish)
	if err != nil {
		return err
	}
	return p.Changed(now)
}

// end writes how a run ended; after an interrupt, the error says how it goes on.
func (d *deployed) end(out io.Writer, err error) error {
	d.progress.end()
	switch last := d.Record().Last(); {
	case errors.Is(err, context.Canceled):
		name := strings.TrimPrefix(d.Owner, d.namespace+"/")
		return interrupted(fmt.Sprintf("what is done stays; to continue: orcon install --resume %s -n %s", name, d.namespace))
	case err == nil:
		_, err = fmt.Fprintf(out, "%s is healthy: revision %d\n", d.Owner, last.Number)
		return err
	}
	return coded(d.moved(err))
}
