package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate/revocation"
)

func newCertificates() *cobra.Command {
	c := &cobra.Command{
		Use:   "certificates",
		Short: "Revoke the authority that signs Orcon's certificates",
		Long: `certificates revokes the authority that Orcon makes for itself. Orcon renews it before it expires; no
command is needed for that. With cert-manager, Orcon has no authority of its own.`,
		Example: "  orcon certificates revoke",
		Args:    knownCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newRevoke())
	return c
}

// revokeOptions are the flags of certificates revoke.
type revokeOptions struct {
	clusterOptions

	yes     bool
	timeout time.Duration
}

func newRevoke() *cobra.Command {
	var o revokeOptions
	c := &cobra.Command{
		Use:   "revoke",
		Short: "Replace the authority at once, because its key may be known",
		Long: `revoke replaces the authority at once. Use it if an attacker may have its key, from Secret orcon-ca.
Otherwise do nothing: Orcon renews the authority before it expires, and no connection breaks.

Agents read the bundle of trusted authorities from ConfigMap orcon-trust of their namespace, and stop
trusting the old one within 2.5 minutes. Until their nodes have the new bundle they refuse the
controller: containers go on, changes arrive later, and pods that start meanwhile wait. revoke names
the namespaces, and those whose pods have to be restarted, since they have no such ConfigMap.

It needs permission to list Deployments, pods and ConfigMaps in all namespaces, and to get and update
Secret orcon-ca in Orcon's namespace.

Exit codes: 0 revoked, 2 failed, 3 revoked, but no new authority was published in time,
130 interrupted.`,
		Example: "  orcon certificates revoke",
		Args:    arguments,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	clusterFlags(c, &o.kubeconfig, &o.context)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "time limit of the work")
	return c
}

func (o *revokeOptions) run(c *cobra.Command) error {
	ctx, s := c.Context(), screenOf(c)
	config, _, err := o.load()
	if err != nil {
		return err
	}
	work, err := revocation.New(ctx, config)
	if err != nil {
		return err
	}
	if _, err := work.Own(ctx); err != nil {
		return err
	}
	affected, err := work.Affected(ctx)
	if err != nil {
		return err
	}
	for _, a := range affected {
		fmt.Fprintln(s.out, effect(a))
	}
	if !o.yes {
		if err := ask(c, "Revoke the authority of "+work.Namespace+"?"); err != nil {
			return err
		}
	}
	if err := work.Revoke(ctx); err != nil {
		return err
	}
	if err := o.wait(c, work); err != nil {
		return err
	}
	s.note("the authority is revoked, and another one is published: orcon check shows whether Orcon works")
	return nil
}

// effect describes what a revocation does to the agents of a namespace.
func effect(a revocation.Agents) string {
	text := "they lose the controller until their nodes have the new bundle"
	if !a.Published {
		text = "restart them afterwards: ConfigMap " + revocation.Bundle + " is missing, and until then they trust the revoked authority"
	}
	return fmt.Sprintf("namespace %s, pods with an agent: %d: %s", a.Namespace, a.Pods, text)
}

// wait waits until nothing in the cluster trusts the authority.
func (o *revokeOptions) wait(c *cobra.Command, r revocation.Work) error {
	ctx, cancel := context.WithTimeout(c.Context(), o.timeout)
	defer cancel()
	for {
		left, err := r.Left(ctx)
		if err == nil && len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			if c.Context().Err() != nil {
				return interrupted("the authority is revoked; the controller publishes another one")
			}
			why := strings.Join(left, ", ")
			if err != nil {
				why = err.Error()
			}
			return codeError{fmt.Errorf("the authority is revoked, and the controller has not published another one within %s: %s: "+
				"see its log: kubectl -n %s logs deployment/relations-controller", o.timeout, why, r.Namespace), exitTimeout}
		case <-time.After(time.Second):
		}
	}
}
