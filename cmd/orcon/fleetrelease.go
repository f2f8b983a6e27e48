package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// fleetReleaseOptions are the flags of fleet release.
type fleetReleaseOptions struct {
	clusterOptions

	yes     bool
	timeout time.Duration
}

func newFleetRelease() *cobra.Command {
	var o fleetReleaseOptions
	c := &cobra.Command{
		Use:   "release INTEGRATION",
		Short: "Give an integration back to another manager, and delete nothing",
		Long: `fleet release deletes every BundleDeployment of an integration in the namespace of the sets, those of all
sets and environments, and leaves all that they deployed as it is: workloads go on, and lose only Orcon's
annotations and label. Another manager, such as Qontract, can then apply them as before.

An IntegrationSet that selects the integration would make it again: list the integrations that it keeps
in spec.integrations first. Its members for others go on.

Exit codes: 0 released, 2 failed, 3 timed out, 130 interrupted.`,
		Example: "  orcon fleet release github-repos -n fleet",
		Args:    arguments,
		RunE:    func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait for the controller")
	return c
}

func (o *fleetReleaseOptions) run(c *cobra.Command, integration string) error {
	kinds, namespace, err := o.open()
	if err != nil {
		return err
	}
	var all bundlev1alpha1.BundleDeploymentList
	if err := kinds.List(c.Context(), &all, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("cannot list BundleDeployments: %w", err)
	}
	released := releasable{kinds, namespace, all.Items}
	members, err := released.members(c.Context(), integration)
	if err != nil {
		return err
	}
	for _, m := range members {
		fmt.Fprintf(c.OutOrStdout(), "%s in namespace %s (BundleDeployment %s)\n", integration, m.Spec.Render.InstallNamespace, m.Name)
	}
	if !o.yes {
		if err := ask(c, "Release this, and leave all that it deployed?"); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(c.Context(), o.timeout)
	defer cancel()
	for _, m := range members {
		if err := released.release(ctx, m); err != nil {
			return unfinished(c, err)
		}
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s is released\n", integration)
	return err
}

// releasable are the BundleDeployments of a namespace.
type releasable struct {
	kinds     client.Client
	namespace string
	all       []bundlev1alpha1.BundleDeployment
}

// members returns those of an integration that no set would make again.
func (r releasable) members(ctx context.Context, integration string) ([]bundlev1alpha1.BundleDeployment, error) {
	var found []bundlev1alpha1.BundleDeployment
	var known []string
	for _, d := range r.all {
		name := d.Annotations[v1alpha1.IntegrationKey]
		if name == integration {
			found = append(found, d)
		} else if name != "" && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	switch {
	case integration == "":
		return nil, errors.New("cannot release: name an integration")
	case len(found) == 0 && len(known) == 0:
		return nil, fmt.Errorf("cannot release: namespace %s has no members of an IntegrationSet: name another with -n", r.namespace)
	case len(found) == 0:
		return nil, fmt.Errorf("cannot release: namespace %s has no member for %q: %s",
			r.namespace, integration, data.Suggest(integration, known))
	}
	for _, d := range found {
		if err := r.unselected(ctx, d, known); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// unselected returns an error if the set of a member would make it again.
func (r releasable) unselected(ctx context.Context, d bundlev1alpha1.BundleDeployment, others []string) error {
	var set v1alpha1.IntegrationSet
	err := r.kinds.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: cmp.Or(d.Labels[v1alpha1.SetLabel], "none")}, &set)
	switch selected := set.Spec.Integrations; {
	case d.Labels[v1alpha1.SetLabel] == "", apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("cannot read the set of %s: %w", d.Name, err)
	case len(selected) > 0 && !slices.Contains(selected, d.Annotations[v1alpha1.IntegrationKey]):
		return nil
	}
	keeps := "the integrations that it keeps"
	if len(others) > 0 {
		keeps += ", at present " + strings.Join(others, ", ")
	}
	return fmt.Errorf("cannot release %s: IntegrationSet %s selects it, and would make it again: set spec.integrations of the set to %s",
		d.Annotations[v1alpha1.IntegrationKey], set.Name, keeps)
}

// release deletes a member, whose objects stay, and waits until it is gone.
func (r releasable) release(ctx context.Context, d bundlev1alpha1.BundleDeployment) error {
	err := change(ctx, r.kinds, &d, func() error {
		d.Spec.DeletionPolicy, d.Spec.Paused = bundlev1alpha1.DeletionPolicyOrphan, false
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot release %s: %w", d.Name, err)
	}
	if err := r.kinds.Delete(ctx, &d); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot release %s: %w", d.Name, err)
	}
	why := ""
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		err := r.kinds.Get(ctx, client.ObjectKeyFromObject(&d), &d)
		for _, one := range d.Status.Conditions {
			if one.Type == string(condition.Ready) {
				why = ": " + one.Message
			}
		}
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("%s waits for the bundle controller%s: %w", d.Name, why, err)
	}
	return nil
}
