package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// fleetApproveOptions are the flags of fleet approve.
type fleetApproveOptions struct{ approveOptions }

func newFleetApprove() *cobra.Command {
	var o fleetApproveOptions
	c := &cobra.Command{
		Use:   "approve SET",
		Short: "Approve the plans of an IntegrationSet's members",
		Long: `fleet approve shows the plan of each member that waits for approval, and approves exactly these plans with
one Approval. The plan of a member that changes meanwhile waits again, alone.

A plan that deletes what must be confirmed by name is left out: orcon approve MEMBER --confirm approves it.
The permissions are those of orcon approve.`,
		Example: `  orcon fleet approve stage -n fleet
  orcon fleet approve stage -n fleet --yes --expires 1h`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.clusterOptions.flags(c)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().DurationVar(&o.expires, "expires", 0, "how long the approval is valid (default: until it is deleted)")
	return c
}

func (o *fleetApproveOptions) run(c *cobra.Command, name string) error {
	if o.expires < 0 {
		return errors.New("cannot approve: --expires must be a positive duration, such as 1h")
	}
	kinds, namespace, err := o.open()
	if err != nil {
		return err
	}
	var set v1alpha1.IntegrationSet
	if err := kinds.Get(c.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &set); err != nil {
		return fmt.Errorf("cannot approve plans of IntegrationSet %s/%s: %w", namespace, name, err)
	}
	plans, err := o.plans(c, kinds, &set)
	if err != nil {
		return err
	}
	me, err := whoami(c.Context(), kinds)
	if err != nil {
		return err
	}
	if !o.yes {
		if err := ask(c, "Approve these plans?"); err != nil {
			return err
		}
	}
	approval := &bundlev1alpha1.Approval{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: name + "-"},
		Spec: bundlev1alpha1.ApprovalSpec{
			Plans: plans, PlanDigest: bundle.DigestOfPlans(convert.ToPlans(plans)), Author: me,
		},
	}
	if o.expires > 0 {
		approval.Spec.ExpirationTime = &metav1.Time{Time: time.Now().Add(o.expires)}
	}
	if err := kinds.Create(c.Context(), approval); err != nil {
		return fmt.Errorf("cannot approve plans of IntegrationSet %s/%s: %w", namespace, name, err)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s approves plans of IntegrationSet %s/%s: %d, digest %.12s: Approval %s\n",
		me, namespace, name, len(plans), approval.Spec.PlanDigest, approval.Name)
	return err
}

// plans prints the plans of the members that wait, and returns their digests.
func (o *fleetApproveOptions) plans(c *cobra.Command, kinds client.Client, set *v1alpha1.IntegrationSet) ([]bundlev1alpha1.ApprovedPlan, error) {
	var all bundlev1alpha1.BundleDeploymentList
	err := kinds.List(c.Context(), &all, client.InNamespace(set.Namespace), client.MatchingLabels{v1alpha1.SetLabel: set.Name})
	if err != nil {
		return nil, fmt.Errorf("cannot list the members of IntegrationSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	var plans []bundlev1alpha1.ApprovedPlan
	for i := range all.Items {
		d := &all.Items[i]
		if convert.Waiting(d) == "" {
			continue
		}
		fmt.Fprintf(c.OutOrStdout(), "%s:\n", d.Name)
		p, err := o.proposed(c, kinds, d)
		if err != nil {
			return nil, o.permitted(c.Context(), d.Name, err)
		}
		if err := printPlan(screenOf(c), p, nil); err != nil {
			return nil, err
		}
		plans = append(plans, bundlev1alpha1.ApprovedPlan{Deployment: d.Name, PlanDigest: p.Digest})
	}
	if len(plans) == 0 {
		return nil, fmt.Errorf("cannot approve plans of IntegrationSet %s/%s: no plan of its members waits for approval: "+
			"kubectl describe integrationset %[2]s -n %[1]s shows its state", set.Namespace, set.Name)
	}
	return plans, nil
}
