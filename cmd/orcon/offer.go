package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

func newOffer() *cobra.Command {
	c := &cobra.Command{
		Use:   "offer",
		Short: "Renew Offers to namespaces that were made again",
		Long: `offer renews Offers. An Offer is to its consumers' namespaces as Orcon first saw them: one that was
deleted and made again under the name gets nothing until the Offer is renewed.`,
		Example: "  orcon offer renew vault -n bank",
		Args:    knownCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newOfferRenew())
	return c
}

// renewOptions are the flags of offer renew.
type renewOptions struct {
	clusterOptions

	all, yes bool
}

func newOfferRenew() *cobra.Command {
	var o renewOptions
	c := &cobra.Command{
		Use:   "renew [NAME]",
		Short: "Extend Offers to namespaces that were made again",
		Long: `offer renew lists the namespaces of an Offer that were deleted and made again, and extends the Offer
to the new ones. Relations that a restore has brought back go on, and new ones are made. Without NAME
it does so for all Offers of the namespace. It needs permission to patch Offers.

Renew an Offer if you trust those who own the namespace now. If its relations with the earlier one
were restored, they go on with all their data.

Exit codes: 0 renewed, or there is nothing to renew, 2 the command failed.`,
		Example: `  orcon offer renew vault -n bank
  orcon offer renew -A --yes      # after a restore into a new cluster`,
		Args: arguments, ValidArgsFunction: o.complete("Offer"),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, strings.Join(args, "")) },
	}
	o.flags(c)
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "every namespace")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	exclude(c, "all-namespaces", "namespace")
	return c
}

func (o *renewOptions) run(c *cobra.Command, name string) error {
	if o.all && name != "" {
		return errors.New("cannot renew Offers: --all-namespaces takes no NAME: leave one of them out")
	}
	kinds, namespace, err := o.open()
	if err != nil {
		return err
	}
	if o.all {
		namespace = ""
	}
	offers, err := renewable(c.Context(), kinds, namespace, name)
	if err != nil {
		return err
	}
	if len(offers) == 0 {
		_, err := fmt.Fprintln(c.OutOrStdout(), "no Offer waits to be renewed")
		return err
	}
	for _, offer := range offers {
		for _, n := range offer.Status.ReplacedNamespaces {
			fmt.Fprintf(c.OutOrStdout(), "Offer %s/%s: namespace %s was made again: its UID is %s now\n", offer.Namespace, offer.Name, n.Name, n.UID)
		}
	}
	if !o.yes {
		if err := ask(c, "Renew?"); err != nil {
			return err
		}
	}
	return renewAll(c, kinds, offers)
}

// renewable returns the Offers that name namespaces which were made again; of one name if that is set.
func renewable(ctx context.Context, kinds client.Client, namespace, name string) ([]v1alpha1.Offer, error) {
	var list v1alpha1.OfferList
	err := kinds.List(ctx, &list, client.InNamespace(namespace))
	switch {
	case meta.IsNoMatchError(err):
		return nil, errNotInstalled
	case err != nil:
		return nil, fmt.Errorf("cannot list Offers: %w", err)
	}
	if err := inNamespace(ctx, kinds, namespace, len(list.Items)); err != nil {
		return nil, err
	}
	if name != "" && !slices.ContainsFunc(list.Items, func(o v1alpha1.Offer) bool { return o.Name == name }) {
		return nil, fmt.Errorf("cannot renew Offer %s/%s: it does not exist: orcon status -n %[1]s lists Offers", namespace, name)
	}
	return slices.DeleteFunc(list.Items, func(o v1alpha1.Offer) bool {
		return name != "" && o.Name != name || len(o.Status.ReplacedNamespaces) == 0
	}), nil
}

// renewAll renews each Offer. One that cannot be renewed does not hold back the rest.
func renewAll(c *cobra.Command, kinds client.Client, offers []v1alpha1.Offer) error {
	var failed []error
	for i := range offers {
		offer := &offers[i]
		if err := renew(c.Context(), kinds, offer); err != nil {
			failed = append(failed, fmt.Errorf("cannot renew Offer %s/%s: %w", offer.Namespace, offer.Name, err))
			continue
		}
		fmt.Fprintf(c.OutOrStdout(), "Offer %s/%s is renewed\n", offer.Namespace, offer.Name)
	}
	return errors.Join(failed...)
}

// renew renews an Offer, if the namespaces that were made again are still those that a person has seen.
func renew(ctx context.Context, kinds client.Client, offer *v1alpha1.Offer) error {
	seen := offer.Status.ReplacedNamespaces
	return change(ctx, kinds, offer, func() error {
		if !slices.Equal(offer.Status.ReplacedNamespaces, seen) {
			return errors.New("the namespaces that were made again have changed meanwhile: run this again")
		}
		renewed(offer)
		return nil
	})
}

// renewed has an Offer be for the namespaces that were made again.
func renewed(o *v1alpha1.Offer) {
	for _, now := range o.Status.ReplacedNamespaces {
		for i, known := range o.Spec.ConsumerNamespaces {
			if known.Name == now.Name {
				o.Spec.ConsumerNamespaces[i].UID = now.UID
			}
		}
	}
}
