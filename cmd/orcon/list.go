package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// The two ways in which a bundle is deployed.
const (
	byInstall    = "orcon install"
	byDeployment = "BundleDeployment"
)

// stateUnreadable is the state of a bundle whose record cannot be read.
const stateUnreadable = "Unreadable"

// installedBundle is one line of list.
type installedBundle struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// By says what deploys it: orcon install, or a BundleDeployment.
	By string `json:"by"`
	// Revision is the newest one, and 0 before the first.
	Revision int64  `json:"revision"`
	State    string `json:"state"`
	Message  string `json:"message,omitempty"`
}

// listOptions are the flags of list.
type listOptions struct {
	clusterOptions

	output output
}

func newList() *cobra.Command {
	var o listOptions
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the bundles that are installed, in every namespace",
		Long: `list shows the bundles that orcon install made and those of BundleDeployments, in every
namespace, or with -n in one.

The bundles of orcon install are recorded in Secrets orcon-bundle-NAME: you need to list Secrets.
For BundleDeployments the cluster role view is enough where the bundle controller is installed.

Exit codes: 0 listed, 2 the command failed.`,
		Example: "  orcon list\n  orcon list -n shop\n  orcon list -o json | jq -r '.[].name'",
		Args:    arguments,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.flags(c)
	c.Flags().Lookup("namespace").Usage = "only this namespace (default: every one)"
	c.Flags().BoolP("all-namespaces", "A", false, "every namespace, which is the default")
	exclude(c, "namespace", "all-namespaces")
	o.output.flag(c, asTable, asJSON, asYAML)
	return c
}

func (o *listOptions) run(c *cobra.Command) error {
	all, notes, err := o.bundles(c.Context(), o.namespace)
	if err != nil {
		return err
	}
	s := screenOf(c)
	for _, note := range notes {
		s.lacks("note: " + note)
	}
	if len(notes) == 0 {
		kinds, _, err := o.open()
		if err := cmp.Or(err, inNamespace(c.Context(), kinds, o.namespace, len(all))); err != nil {
			return err
		}
	}
	return o.output.print(s, all, func() error {
		if len(all) == 0 {
			o.none(s, notes)
			return nil
		}
		t := s.table("NAMESPACE", "NAME", "BY", "REVISION", "STATE", "MESSAGE")
		t.below = true
		for _, b := range all {
			t.row(b.Namespace, b.Name, b.By, b.Revision, cell{b.State, bundleStyle(b.State)}, b.Message)
		}
		return t.print()
	})
}

// none notes that there are no bundles, where all can be seen.
func (o *listOptions) none(s screen, unseen []string) {
	switch {
	case len(unseen) > 0:
	case o.namespace == "":
		s.note("no bundles are installed")
	default:
		s.note(fmt.Sprintf("no bundles are installed in namespace %s: orcon list shows those of every namespace", o.namespace))
	}
}

func bundleStyle(state string) style {
	switch state {
	case string(bundle.StateSucceeded), stateReady:
		return good
	case string(bundle.StateFailed), stateFailed, stateUnreadable:
		return bad
	}
	return warns
}

// bundles returns the bundles of a namespace, of every one for "", in order; notes say which the user
// may not list, and that no controller looks at those shown.
func (o *clusterOptions) bundles(ctx context.Context, namespace string) (all []installedBundle, notes []string, err error) {
	config, _, err := o.load()
	if err != nil {
		return nil, nil, err
	}
	kinds, _, err := o.open()
	if err != nil {
		return nil, nil, err
	}
	all, stopped, err := listDeployed(ctx, kinds, namespace)
	switch {
	case stopped != "":
		notes = append(notes, stopped)
	case apierrors.IsForbidden(err):
		notes = append(notes, "you may not list BundleDeployments, which are not shown")
	case err != nil:
		return nil, nil, err
	}
	installed, err := cluster.List(ctx, config, namespace)
	switch {
	case apierrors.IsForbidden(err):
		notes = append(notes, "you may not list Secrets, so the bundles of orcon install are not shown")
	case err != nil:
		return nil, nil, err
	}
	for _, i := range installed {
		kept := slices.ContainsFunc(all, func(b installedBundle) bool { return b.Namespace == i.Namespace && b.Name == i.Name })
		if !kept {
			all = append(all, installedByHand(i))
		}
	}
	slices.SortFunc(all, func(a, b installedBundle) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, notes, nil
}

// listDeployed returns the bundles of BundleDeployments, none where the cluster has no such kind;
// stopped says that no controller looks at them.
func listDeployed(ctx context.Context, kinds client.Reader, namespace string) (all []installedBundle, stopped string, err error) {
	all = []installedBundle{}
	var deployments v1alpha1.BundleDeploymentList
	err = kinds.List(ctx, &deployments, client.InNamespace(namespace))
	if err != nil && !meta.IsNoMatchError(err) {
		return all, "", fmt.Errorf("cannot list BundleDeployments: %w", err)
	}
	if len(deployments.Items) == 0 {
		return all, "", nil
	}
	running := lookAtControllers(ctx, kinds)
	for _, d := range deployments.Items {
		st := bundleLine(&d, running)
		all = append(all, installedBundle{d.Namespace, d.Name, byDeployment, d.Status.ActiveRevision, st.State, st.Message})
	}
	return all, running.bundlesStopped(), nil
}

// installedByHand returns the bundle of a record that orcon install wrote.
func installedByHand(i cluster.Installed) installedBundle {
	if i.Unreadable != nil {
		return installedBundle{
			Namespace: i.Namespace, Name: i.Name, By: byInstall, State: stateUnreadable,
			Message: fmt.Sprintf("Secret orcon-bundle-%s, its record, cannot be read: %v: restore the Secret", i.Name, i.Unreadable),
		}
	}
	last := i.Record.Last()
	b := installedBundle{i.Namespace, i.Name, byInstall, int64(last.Number), string(last.State), last.Message}
	if last.State == bundle.StateActive && b.Message == "" {
		b.Message = fmt.Sprintf("under way, or interrupted: orcon install --resume %s -n %s", i.Name, i.Namespace)
	}
	if len(i.Record.Removing) > 0 {
		b.State, b.Message = "Removing", fmt.Sprintf("under way, or interrupted: orcon uninstall %s -n %s", i.Name, i.Namespace)
	}
	return b
}

// elsewhere returns where a bundle of a name is, as a clause that follows "not found in namespace
// …": empty where no other namespace has one, or where the user may not see it.
func (o *clusterOptions) elsewhere(ctx context.Context, namespace, name string) string {
	all, _, err := o.bundles(ctx, "")
	if err != nil {
		return ""
	}
	var found []installedBundle
	var names []string
	for _, b := range all {
		if b.Name == name && b.Namespace != namespace {
			found, names = append(found, b), append(names, b.Namespace)
		}
	}
	switch len(found) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; %s is in namespace %s (%s): use -n %[2]s", name, found[0].Namespace, found[0].By)
	}
	return fmt.Sprintf("; %s is in namespaces %s: use -n with one of them", name, strings.Join(names, ", "))
}
