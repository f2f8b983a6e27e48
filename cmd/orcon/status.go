package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// The states that status shows.
const (
	stateReady   = "ready"
	stateWaiting = "waiting"
	stateFailed  = "failed"
)

// errNotInstalled is the error of a cluster that lacks a kind of Orcon. Installing it is not always the cure: where one
// definition was deleted, relations would begin anew.
var errNotInstalled = errors.New( //nolint:staticcheck // a name begins it
	"Orcon is not installed in this cluster, or one of its definitions is missing: orcon check shows what helps")

// statusOptions are the flags of status.
type statusOptions struct {
	clusterOptions

	all    bool
	output output
}

func newStatus() *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status",
		Short: "Show which applications, relations, Offers and bundles wait, for what, and what helps",
		Long: `status lists the applications, relations, Offers and BundleDeployments of a namespace with their state:

    ready     it has what it needs from others; a bundle works
    waiting   it may become ready by itself, when another application is there, or when a person
              approves the plan or resumes the bundle
    failed    it needs a person: nothing happens by itself, or a part of it does not work

Below the table it explains each one that is not ready, and what helps; and which pods of an
application do not run, are not ready, fail again and again, do not end or cannot be created, as far
as you may list pods and Events. It reads Orcon's own objects: the cluster role view is enough.
Bundles of orcon install are shown by orcon list.

A note on standard error names a controller that has no ready replica or is not installed, since the
states may be old then, and a webhook that has none, since pods are not created then. The note does
not change the exit code; orcon check fails.

Exit codes: 0 everything is ready, 1 something waits or failed, 2 the command failed.`,
		Example: `  orcon status -n shop
  orcon status -A
  orcon status -A -o json | jq -r '.[] | select(.state != "ready") | .message'`,
		Args: arguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.flags(c)
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "every namespace")
	o.output.flag(c, asTable, asJSON, asYAML)
	return c
}

func (o *statusOptions) run(c *cobra.Command) error {
	kinds, namespace, err := o.open()
	if err != nil {
		return err
	}
	if o.all {
		namespace = ""
	}
	running := lookAtControllers(c.Context(), kinds)
	all, unseen, err := statusLines(c.Context(), kinds, namespace, running)
	if err != nil {
		return err
	}
	s := screenOf(c)
	if len(unseen) > 0 {
		s.lacks("note: you may not list " + strings.Join(unseen, " and ") + ", which are not shown")
	}
	running.note(s, all)
	if len(all) == 0 && namespace != "" {
		if err := optedIn(c.Context(), s, kinds, namespace); err != nil {
			return err
		}
	}
	if err := o.output.print(s, all, func() error { return o.table(s, namespace, all) }); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(st statusLine) bool { return st.State != stateReady }) {
		return silentError(exitFailed)
	}
	return nil
}

// note notes the programs of Orcon that do not run, as far as what is shown depends on them.
func (c controllers) note(s screen, shown []statusLine) {
	related := slices.ContainsFunc(shown, func(st statusLine) bool { return !st.isBundle() })
	stopped := []string{c.relationsStopped(related), c.webhookStopped()}
	if slices.ContainsFunc(shown, statusLine.isBundle) {
		stopped = append(stopped, c.bundlesStopped())
	}
	for _, why := range stopped {
		if why != "" {
			s.note("note: " + why)
		}
	}
}

// optedIn returns an error if a namespace does not exist, and notes one in which Orcon does not act. It
// is silent where the user may not read the namespace.
func optedIn(ctx context.Context, s screen, kinds client.Client, namespace string) error {
	n, err := existing(ctx, kinds, namespace)
	if n == nil {
		return err
	}
	if why := installation.Outside(ctx, kinds, n); why != "" {
		s.note(fmt.Sprintf("namespace %s has no relations: %s", namespace, why))
	} else if n.Labels[application.LabelOptIn] != application.OptedIn {
		s.note(fmt.Sprintf("namespace %s has not opted in: %s", namespace, application.OptIn(namespace)))
	}
	return nil
}

// existing returns a namespace, an error if it does not exist, and nil where the user may not read
// it.
func existing(ctx context.Context, kinds client.Client, namespace string) (*metav1.PartialObjectMetadata, error) {
	n := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	err := kinds.Get(ctx, client.ObjectKey{Name: namespace}, n)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no namespace %s: use -A for every namespace", namespace)
	case err != nil:
		return nil, nil //nolint:nilerr,nilnil // that it exists is not what was asked
	}
	return n, nil
}

// inNamespace returns an error if nothing was found in a namespace because it does not exist; "" is every namespace.
func inNamespace(ctx context.Context, kinds client.Client, namespace string, found int) error {
	if found > 0 || namespace == "" {
		return nil
	}
	_, err := existing(ctx, kinds, namespace)
	return err
}

// table prints the lines, and then explains those that need it.
func (o *statusOptions) table(s screen, namespace string, all []statusLine) error {
	if len(all) == 0 {
		s.note(emptyStatus(namespace))
		return nil
	}
	header := []string{"KIND", "NAME", "STATE", "DETAIL"}
	if namespace == "" {
		header = append([]string{"NAMESPACE"}, header...)
	}
	t := s.table(header...)
	styles := stateStyles()
	for _, st := range all {
		row := []any{st.Kind, st.Name, cell{st.State, styles[st.State]}, st.Detail}
		if namespace == "" {
			row = append([]any{st.Namespace}, row...)
		}
		t.row(row...)
	}
	if err := t.print(); err != nil {
		return err
	}
	for _, st := range all {
		if st.explained() || s.verbose {
			printWhy(s, namespace, st)
		}
	}
	return nil
}

// stateStyles are the styles of the states.
func stateStyles() map[string]style {
	return map[string]style{stateReady: good, stateWaiting: warns, stateFailed: bad}
}

// printWhy prints why a line is as it is.
func printWhy(s screen, namespace string, st statusLine) {
	name := st.Kind + " " + st.Name
	if namespace == "" {
		name = st.Kind + " " + st.Namespace + "/" + st.Name
	}
	fmt.Fprintf(s.out, "\n%s: %s\n", s.paint(bold, name), s.paint(stateStyles()[st.State], st.State))
	for _, line := range st.explanations() {
		fmt.Fprint(s.out, wrap(line, "  ", s.width))
	}
}

func emptyStatus(namespace string) string {
	if namespace == "" {
		return "there are no applications with relations and no BundleDeployments (orcon list shows what orcon install made)"
	}
	return fmt.Sprintf("namespace %s has no applications with relations and no BundleDeployments (orcon status -A shows every namespace, orcon list what orcon install made)", namespace)
}
