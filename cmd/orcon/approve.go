package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// approveOptions are the flags of approve.
type approveOptions struct {
	deploymentOptions

	yes     bool
	expires time.Duration
}

func newApprove() *cobra.Command {
	var o approveOptions
	c := &cobra.Command{
		Use:   "approve NAME",
		Short: "Approve the plan of a BundleDeployment",
		Long: `approve shows the plan that a BundleDeployment proposes, and approves exactly its actions and
objects. If the cluster changes so that the plan changes too, the approval is void, and the new
plan waits for another one.

Deletions that cannot be undone are confirmed by name, one by one. An approval is an Approval
object: all users with permission to create those may approve, and its author is the user who
created it.

ClusterRole orcon-bundle-approve permits that, together with the permission to get Secrets of the
namespace: they hold the plan, and the names of those that do change with each revision. A user
without these permissions gets the commands that give them.`,
		Example: `  orcon approve shop -n shop
  orcon approve shop --yes --expires 1h
  orcon approve shop --confirm PersistentVolumeClaim/data`,
		Args: arguments, ValidArgsFunction: o.complete("BundleDeployment"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.permitted(c.Context(), args[0], o.run(c, args[0]))
		},
	}
	o.clusterOptions.flags(c)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().DurationVar(&o.expires, "expires", 0, "how long the approval is valid (default: until it is deleted)")
	c.Flags().StringArrayVar(&o.confirm, "confirm", nil, "KIND/NAME of a held object whose deletion is confirmed; may be repeated")
	return c
}

func (o *approveOptions) run(c *cobra.Command, name string) error {
	if o.expires < 0 {
		return errors.New("cannot approve: --expires must be a positive duration, such as 1h")
	}
	ctx := c.Context()
	kinds, d, err := o.find(c, name)
	if err != nil {
		return err
	}
	if d.Status.Plan == nil {
		return fmt.Errorf("cannot approve %s: no plan waits for approval: kubectl describe bundledeployment %s -n %s shows its state",
			convert.Owner(d), name, d.Namespace)
	}
	me, err := whoami(ctx, kinds)
	if err != nil {
		return err
	}
	if requester := d.Annotations[v1alpha1.RequesterKey]; convert.ToGate(d).FourEyes && me == requester {
		return fmt.Errorf("cannot approve %s: spec.approval.selfApproval is Forbid, and %s requested the change: "+
			"ask another one to run orcon approve %s -n %s", convert.Owner(d), me, name, d.Namespace)
	}
	p, err := o.proposed(c, kinds, d)
	if err != nil {
		return err
	}
	if err := printPlan(screenOf(c), p, o.confirm); err != nil {
		return err
	}
	if _, err := p.Confirm(o.confirm...); err != nil {
		return err
	}
	if !o.yes {
		if err := ask(c, "Approve this?"); err != nil {
			return err
		}
	}
	approval := o.approval(me, d)
	if err := kinds.Create(ctx, approval); err != nil {
		return fmt.Errorf("cannot approve %s: %w", convert.Owner(d), err)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s approves plan %.12s of %s: Approval %s\n",
		approval.Spec.Author, p.Digest, convert.Owner(d), approval.Name)
	return err
}

// proposed returns the plan that waits, checked by its digest and by what the controller published of its content.
func (o *approveOptions) proposed(c *cobra.Command, kinds client.Reader, d *v1alpha1.BundleDeployment) (p bundle.Plan, err error) {
	o.approves = true
	deployed, err := o.connect(c, d.Name)
	if err != nil {
		return p, err
	}
	// Who approves need not be able to tell which cluster it is.
	deployed.UID, deployed.Identity = string(d.UID), d.Status.Plan.Cluster
	deployed.world.ReadOnly = true // the account of the deployment carries the plan out
	if d.Status.Plan.Revision == "" {
		p, err = deployed.Plan(c.Context(), engine.Wish{Uninstall: true, ConfirmKinds: d.Spec.Prune.ConfirmKinds})
	} else {
		p, err = stored(c.Context(), kinds, cluster.NewStore(deployed.world), d)
	}
	switch unread := deployed.world.Withheld().Unread; {
	case err != nil || p.Digest == d.Status.Plan.Digest:
	case len(unread) > 0:
		err = fmt.Errorf("cannot show the plan of %s: to approve a deletion, you need get on what would be deleted, and may not read %s: "+
			"bind ClusterRole view beside orcon-bundle-approve", convert.Owner(d), listed(unread))
	default:
		err = fmt.Errorf("cannot show the plan of %s: a new one is being made: run this again", convert.Owner(d))
	}
	return p, err
}

// stored returns the plan that waits from its record, as the controller stored it: users who may write the Secrets of
// a record cannot write BundleRevisions (TRUST.md R2).
func stored(ctx context.Context, kinds client.Reader, store *cluster.Store, d *v1alpha1.BundleDeployment) (p bundle.Plan, err error) {
	record, err := store.Load(ctx)
	if err != nil {
		return p, err
	}
	last := record.Last().Number
	if p, err = store.Plan(ctx, last); err != nil {
		return p, err
	}
	var r v1alpha1.BundleRevision
	name := d.Status.Plan.Revision
	if err := kinds.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: name}, &r); client.IgnoreNotFound(err) != nil {
		return p, fmt.Errorf("cannot read BundleRevision %s: %w", name, err)
	}
	if !metav1.IsControlledBy(&r, d) || r.Spec.PlanDigest != d.Status.Plan.Digest || !slices.Equal(r.Spec.Contents, store.Contents(last)) {
		return p, fmt.Errorf("cannot show the plan of %s: its record differs from BundleRevision %s: if a new plan is being made, "+
			"run this again; else the Secrets orcon-bundle-%s… were changed by hand: "+
			"kubectl describe bundledeployment %[3]s -n %s shows the cure",
			convert.Owner(d), name, d.Name, d.Namespace)
	}
	return p, nil
}

// approval returns the Approval of a user.
func (o *approveOptions) approval(author string, d *v1alpha1.BundleDeployment) *v1alpha1.Approval {
	a := &v1alpha1.Approval{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, GenerateName: d.Name + "-"},
		Spec: v1alpha1.ApprovalSpec{
			Deployment: d.Name, PlanDigest: d.Status.Plan.Digest, Author: author, ConfirmedObjects: o.confirm,
		},
	}
	if o.expires > 0 {
		a.Spec.ExpirationTime = &metav1.Time{Time: time.Now().Add(o.expires)}
	}
	return a
}

// whoami returns the name by which the API server knows the user.
func whoami(ctx context.Context, kinds client.Client) (string, error) {
	var me authenticationv1.SelfSubjectReview
	if err := kinds.Create(ctx, &me); err != nil {
		return "", fmt.Errorf("cannot find out who you are: %w", err)
	}
	return me.Status.UserInfo.Username, nil
}

// find returns a BundleDeployment, and what reads and writes its kinds.
func (o *clusterOptions) find(c *cobra.Command, name string) (client.Client, *v1alpha1.BundleDeployment, error) {
	kinds, namespace, err := o.open()
	if err != nil {
		return nil, nil, err
	}
	var d v1alpha1.BundleDeployment
	err = kinds.Get(c.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &d)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil, o.absent(c, namespace, name)
	case err != nil:
		return nil, nil, fmt.Errorf("cannot read BundleDeployment %s/%s: %w", namespace, name, err)
	}
	return kinds, &d, nil
}

// absent says that there is no BundleDeployment of a name, and whether orcon install has made
// something of that name: nothing waits there that could be approved or paused.
func (o *clusterOptions) absent(c *cobra.Command, namespace, name string) error {
	d, err := (&deploymentOptions{clusterOptions: *o}).connect(c, name)
	if err == nil && d.Record().Last().Number > 0 {
		return fmt.Errorf("cannot %s %s/%s: it was installed by orcon install and is not a BundleDeployment: see orcon history %[3]s -n "+
			"%[2]s", c.Name(), namespace, name)
	}
	return fmt.Errorf("cannot %s %s/%s: no such BundleDeployment%s (orcon list shows what is installed)", c.Name(), namespace, name,
		o.elsewhere(c.Context(), namespace, name))
}
