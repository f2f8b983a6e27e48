package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

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
	output           string
	expect           []string
	policy           string
	plan, yes, retry bool
}

// exitCodes is what the help of each command that changes a cluster ends with.
const exitCodes = `

Exit codes: 0 done, 2 failed (of an upgrade that failed, the last healthy content is back),
3 there was not enough time, 4 something of somebody else is in the way, or a policy refuses.`

func newInstall() *cobra.Command {
	var o installOptions
	c := &cobra.Command{
		Use:   "install SOURCE --name NAME | --resume NAME",
		Short: "Install or upgrade a bundle, in order, with a way back",
		Long: `install renders SOURCE (see orcon render --help), shows what that would change, and does it:
phase by phase, each when what comes before it is healthy. ConfigMaps, Secrets and keys of
them that its workloads read, and that neither it nor the cluster has, are listed before
anything is written. What left the bundle is deleted when all is healthy. If something
fails, or time is up, the last healthy content comes back by itself. Run it again to
upgrade. After an interrupt --resume goes on with what is stored, and needs no source.

A content that has failed is not tried again, unless --retry says that what made it fail
is gone. Deletions of namespaces, volumes, claims and definitions, and of more than ten
objects at a time, wait for --confirm. What the deployment is, is stored in Secrets
orcon-bundle-NAME of its namespace.` + exitCodes,
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
				return errors.New("cannot resume from a SOURCE: leave it out, what is stored counts")
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
	c.Flags().BoolVar(&o.plan, "plan", false, "only show what would change")
	c.Flags().StringVar(&o.resume, "resume", "", "go on with what was interrupted of this deployment; no SOURCE, no other name")
	c.MarkFlagsMutuallyExclusive("resume", "name")
	c.MarkFlagsMutuallyExclusive("resume", "plan")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.retry, "retry", false, "try a content that has failed before")
	return c
}

func newPlan() *cobra.Command {
	o := installOptions{plan: true}
	c := &cobra.Command{
		Use:   "plan SOURCE --name NAME",
		Short: "Show what installing a bundle would change",
		Long: `plan asks the API server by dry runs what install would change, field by field, and writes
nothing. What Secrets hold is not shown.` + exitCodes,
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
	c.Flags().StringVar(&o.name, "name", "", "name of the deployment (needed)")
	c.Flags().StringVar(&o.conflicts, "conflicts", string(bundle.Prevent), "what becomes of objects of others: Prevent, AdoptUnowned or Take")
	c.Flags().StringArrayVar(&o.expect, "expect", nil, "KIND/NAME: a ConfigMap, Secret or ServiceAccount that something makes while this is installed")
	c.Flags().StringVar(&o.policy, "policy", "", "YAML file with rules in CEL that the plan has to keep: a list of {name, expression, message}")
	c.Flags().StringVarP(&o.output, "output", "o", "table", "how the plan is shown: table, json or html (one page, for a browser)")
}

func (o *installOptions) run(c *cobra.Command, source string) error {
	ctx, stop := interruptible(c)
	defer stop()
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
		err = fmt.Errorf("%w: --retry", err)
	}
	return d.end(c, err)
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
	printed, known := map[string]func(io.Writer, bundle.Plan) error{"table": printPlan, "json": printPlanJSON, "html": printPage}[o.output]
	if !known {
		return bundle.Plan{}, fmt.Errorf("cannot print as %q: --output is table, json or html", o.output)
	}
	p, err := d.Plan(ctx, wish)
	if err != nil {
		return p, coded(err)
	}
	p.Refused = rules.Refusals(p.Preview())
	if err := printed(c.OutOrStdout(), p); err != nil {
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

// interruptible ends what runs when the user interrupts it, or it is asked to end.
func interruptible(c *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	return ctx, stop
}

// ask lets the user decide.
func ask(c *cobra.Command, question string) error {
	fmt.Fprintf(c.ErrOrStderr(), "%s [y/N] ", question)
	answer, err := bufio.NewReader(c.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	if yes := strings.ToLower(strings.TrimSpace(answer)); yes != "y" && yes != "yes" {
		return errors.New("nothing was changed: answer y, or say --yes")
	}
	return nil
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

// end says how a run ended, and after an interrupt how it goes on.
func (d *deployed) end(c *cobra.Command, err error) error {
	switch last := d.Record().Last(); {
	case errors.Is(err, context.Canceled):
		name := strings.TrimPrefix(d.Owner, d.namespace+"/")
		return fmt.Errorf("interrupted: what is done stays: orcon install --resume %s -n %s goes on from there", name, d.namespace)
	case err == nil:
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s is healthy: revision %d\n", d.Owner, last.Number)
		return err
	}
	return coded(err)
}
