package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/deployment"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// exitSkipped is the further exit code of check: nothing failed, and a check was skipped.
const exitSkipped = 3

// checkOptions are the flags of check.
type checkOptions struct {
	clusterOptions

	output output
}

func newCheck() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check",
		Short: "Check whether Orcon can serve a cluster, and whether it does",
		Long: `check looks at the cluster's version and at what is installed of Orcon: its kinds, its
Deployments, whether the API server trusts its webhooks, and whether NetworkPolicies cut a port
of its pods, or those of builtin:network-policies would. It has the API server admit a
declaring pod by a dry run in a namespace that has opted in, and sends a request to the relations
API. It names a BundleDeployment or JobWorkspace whose controller is not installed, with the command
that installs it. It lists the namespaces that do not let the bundle controller act as the accounts
of their BundleDeployments. It also lists who may change what Orcon runs, according to the cluster's
roles, which you must be permitted to list. It changes nothing.

With -n it checks one namespace: its label, its schema mode, the webhook there, whether each
application is ready, and, if you may list them, Orcon's Deployments that serve relations and the
accounts of its BundleDeployments.

A check is "ok", "FAIL" with what helps, or "SKIP" where you may not see it, or where no namespace
has opted in.

Exit codes: 0 everything is ok, 1 a check failed, 2 the cluster cannot be checked, 3 nothing failed
and a check was skipped.`,
		Example: "  orcon check\n  orcon check -n shop\n  orcon check -o json | jq '.[] | select(.result != \"ok\")'",
		Args:    arguments,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.flags(c)
	c.Flags().Lookup("namespace").Usage = "check this namespace only"
	o.output.flag(c, asTable, asJSON, asYAML)
	return c
}

func (o *checkOptions) run(c *cobra.Command) error {
	config, _, err := o.load()
	if err != nil {
		return err
	}
	findings, err := installation.Check(c.Context(), config, o.namespace, deployment.NetworkPolicies(), bundle.LetIn)
	if err != nil {
		return err
	}
	s := screenOf(c)
	if err := o.output.print(s, findings, func() error { return printFindings(s, findings) }); err != nil {
		return err
	}
	return verdict(findings)
}

// printFindings prints each finding whole, since it holds the cure: on a terminal in several lines.
func printFindings(s screen, findings []installation.Finding) error {
	styles := map[installation.Result]style{installation.OK: good, installation.Failed: bad, installation.Skipped: warns}
	for _, f := range findings {
		text := f.Check
		if f.Message != "" {
			text += ": " + f.Message
		}
		text = strings.TrimPrefix(wrap(text, checkIndent, s.width), checkIndent)
		if _, err := fmt.Fprint(s.out, s.paint(styles[f.Result], fmt.Sprintf("%-4s", f.Result))+"  "+text); err != nil {
			return err
		}
	}
	return nil
}

// checkIndent is the room that the result takes before its check.
const checkIndent = "      "

// verdict returns the error of findings that are not all ok.
func verdict(findings []installation.Finding) error {
	counts := map[installation.Result]int{}
	for _, f := range findings {
		counts[f.Result]++
	}
	switch {
	case counts[installation.Failed] > 0:
		return failedError{fmt.Errorf("%d of %d checks failed", counts[installation.Failed], len(findings))}
	case counts[installation.Skipped] > 0:
		return codeError{errors.New(skipped(counts[installation.Skipped])), exitSkipped}
	}
	return nil
}

func skipped(n int) string {
	if n == 1 {
		return "1 check was skipped"
	}
	return fmt.Sprintf("%d checks were skipped", n)
}
