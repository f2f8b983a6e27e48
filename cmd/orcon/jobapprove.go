package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/approval"
)

func newJobPlan() *cobra.Command {
	var o jobOptions
	var out output
	c := &cobra.Command{
		Use:   "plan RUN",
		Short: "Show the plan that a run has left",
		Long: `job plan prints the plan that a run of action plan, or plan-NAME, has left: what orcon job approve approves. Plans may
hold secrets; each one that is read is recorded as an Event of the JobWorkspace, with the name of the reader.

A JobWorkspace keeps its newest plan. It can be applied once, and only while the state is the one that it was made for.

It needs the permission get of jobruns/plan in API group jobs.orcon.tengu.io, which the cluster role edit and
ClusterRole orcon-job-approve have.

Exit codes: 0 printed, 2 the command failed.`,
		Example: "  orcon job plan network-x7k2p -n shop\n  orcon job plan network-x7k2p -n shop -o json | jq -r .digest",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			target, err := o.find(args[0])
			if err != nil {
				return err
			}
			p, err := target.plan(c)
			if err != nil {
				return err
			}
			s := screenOf(c)
			return out.print(s, p, func() error { return printJobPlan(s, p) })
		},
	}
	o.flags(c)
	c.ValidArgsFunction = o.complete("JobRun")
	out.flag(c, asTable, asJSON, asYAML)
	return c
}

// plan reads the plan of the JobRun.
func (t jobTarget) plan(c *cobra.Command) (people.RunPlan, error) {
	request, err := t.request("GET", people.Runs, people.Plans, false)
	if err != nil {
		return people.RunPlan{}, err
	}
	var p people.RunPlan
	return p, answer(request.Do(c.Context()), &p)
}

// printJobPlan prints a plan. On a terminal, what its template wrote hides nothing of it.
func printJobPlan(s screen, p people.RunPlan) error {
	text := p.Text
	if text == "" {
		text = fmt.Sprintf("the template wrote no text of the plan: orcon job logs %s -n %s has its output\n", p.Run, p.Namespace)
	}
	fmt.Fprintln(shownLog(s), strings.TrimRight(text, "\n"))
	s.note(fmt.Sprintf("plan %s of JobRun %s/%s, for generation %d of JobWorkspace %s", approval.Short(p.Digest), p.Namespace, p.Run,
		p.Generation, p.Workspace))
	if p.Obstacle != "" {
		s.note("it cannot be applied: " + p.Obstacle)
	}
	return nil
}

// jobApproveOptions are the flags of job approve.
type jobApproveOptions struct {
	jobOptions

	digest string
	yes    bool
}

func newJobApprove() *cobra.Command {
	var o jobApproveOptions
	c := &cobra.Command{
		Use:   "approve RUN",
		Short: "Approve the plan that a run has left, and have exactly that applied",
		Long: `job approve shows the plan that a run of action plan, or plan-NAME, has left, asks, and creates a JobApproval. A JobRun
then applies exactly that plan. If the state or the input has changed since the plan was made, nothing is applied, and
another JobRun plans again.

An approval is a JobApproval object: all users with permission to create those may approve, and its author is the user
who created it. ClusterRole orcon-job-approve permits that, and the cluster role admin has it; it does not permit to run
anything else.

With --digest the plan must have a digest that begins so, at least 12 digits of it, as orcon job plan prints it.

Exit codes: 0 approved, 2 the command failed.`,
		Example: `  orcon job approve network-x7k2p -n shop
  orcon job approve network-x7k2p -n shop --digest 0f3a9c27b1d4 --yes`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.ValidArgsFunction = o.complete("JobRun")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().StringVar(&o.digest, "digest", "", "digest of the plan, or its first digits (default: any)")
	return c
}

// leastDigits is how many digits of a digest name a plan.
const leastDigits = 12

func (o *jobApproveOptions) run(c *cobra.Command, name string) error {
	wanted := plainDigest(o.digest)
	if o.digest != "" && len(wanted) < leastDigits {
		return fmt.Errorf("cannot approve: --digest %q has less than %d digits", o.digest, leastDigits)
	}
	target, err := o.find(name)
	if err != nil {
		return err
	}
	p, err := target.plan(c)
	switch {
	case err != nil:
		return err
	case p.Obstacle != "":
		return fmt.Errorf("cannot approve the plan of JobRun %s: %s", target, p.Obstacle)
	case !strings.HasPrefix(plainDigest(p.Digest), wanted):
		return fmt.Errorf("cannot approve: JobRun %s has left plan %s, not %s: look at it with orcon job plan %s -n %s", target,
			approval.Short(p.Digest), o.digest, target.name, target.namespace)
	}
	if err := printJobPlan(screenOf(c), p); err != nil {
		return err
	}
	if !o.yes {
		if err := ask(c, "Approve this?"); err != nil {
			return err
		}
	}
	return target.approve(c, p)
}

// approve creates the approval of a plan.
func (t jobTarget) approve(c *cobra.Command, p people.RunPlan) error {
	me, err := whoami(c.Context(), t.kinds)
	if err != nil {
		return err
	}
	a := &v1alpha1.JobApproval{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, GenerateName: t.name + "-"},
		Spec:       v1alpha1.JobApprovalSpec{Run: t.name, PlanDigest: p.Digest, Author: me},
	}
	if err := t.kinds.Create(c.Context(), a); err != nil {
		return fmt.Errorf("cannot approve the plan of JobRun %s: %w", t, err)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s approves plan %s of JobRun %s: JobApproval %s; "+
		"orcon job runs %s -n %s shows the JobRun that applies it\n",
		me, approval.Short(p.Digest), t, a.Name, p.Workspace, t.namespace)
	return err
}
