package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// Where an interface comes from.
const (
	builtIn   = "built in"
	published = "cluster"
)

// interfaceOptions are the flags of interfaces.
type interfaceOptions struct {
	clusterOptions

	output output
}

func newInterfaces() *cobra.Command {
	var o interfaceOptions
	c := &cobra.Command{
		Use:     "interfaces [NAME[@VERSION]]",
		Aliases: []string{"interface"},
		Short:   "List the interfaces of relations, or show the fields of one",
		Long: `interfaces lists the interfaces that are built into Orcon and those that are published in the
cluster. With NAME it shows the fields that each side writes, which of them are required and which
are secret, an example, and the annotations that use it. Without a cluster it knows the built-in
ones. So it does for a user who may not list the interfaces of the cluster: a note has the commands
that permit it.

Exit codes: 0 shown, 2 there is no such interface, or the command failed.`,
		Example: `  orcon interfaces
  orcon interfaces postgresql_client
  orcon interfaces http -o json | jq '.bags'`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return o.show(c, args[0])
			}
			return o.list(c)
		},
	}
	o.flags(c)
	_ = c.Flags().MarkHidden("namespace") // interfaces belong to the cluster
	o.output.flag(c, asTable, asJSON, asYAML)
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeInterfaces(c.Context(), o.known), cobra.ShellCompDirectiveNoFileComp
	}
	return c
}

// sourced is an interface and where it comes from.
type sourced struct {
	schema.Interface

	from string
}

// listInterfaces returns the interfaces of the cluster.
func listInterfaces(ctx context.Context, kinds client.Client) ([]v1alpha1.Interface, error) {
	var list v1alpha1.InterfaceList
	switch err := kinds.List(ctx, &list); {
	case meta.IsNoMatchError(err):
		return nil, errNotInstalled
	case apierrors.IsForbidden(err):
		return nil, unlistable(ctx, kinds, err)
	case err != nil:
		return nil, fmt.Errorf("cannot list the interfaces of the cluster: %w", err)
	}
	return list.Items, nil
}

// unlistable explains that the user may not list the interfaces of the cluster, which belong to no namespace, with the
// commands that permit it.
func unlistable(ctx context.Context, kinds client.Client, err error) error {
	me, unknown := whoami(ctx, kinds)
	if unknown != nil {
		me = "USER"
	}
	const apply = " --dry-run=client -o yaml | kubectl apply -f -"
	return fmt.Errorf("you may not list the interfaces of the cluster: %w. An administrator of the cluster permits that by\n"+
		"kubectl create clusterrole orcon-interfaces --verb=get,list --resource=interfaces.%[2]s%[3]s\n"+
		"kubectl create clusterrolebinding orcon-interfaces-%[4]s --clusterrole=orcon-interfaces --user=%[5]s%[3]s",
		err, v1alpha1.GroupVersion.Group, apply, objectName(me), shellWord(me))
}

// known returns the built-in interfaces and those of the cluster, in order of name. The error says
// why those of the cluster are missing.
func (o *clusterOptions) known(ctx context.Context) ([]sourced, error) {
	library, err := schema.Library()
	if err != nil {
		return nil, err
	}
	var all []sourced
	for _, i := range library {
		all = append(all, sourced{i, builtIn})
	}
	kinds, _, err := o.open()
	if err != nil {
		return all, err
	}
	objects, err := listInterfaces(ctx, kinds)
	if err != nil {
		return all, err
	}
	catalog := schema.NewCatalog(library...)
	var unread error
	for _, object := range objects {
		p, err := convert.ToPublished(&object)
		unread = errors.Join(unread, err)
		if i, _, ok := catalog.Admit(p); err == nil && ok {
			all = append(all, sourced{i, published})
		}
	}
	slices.SortStableFunc(all, func(a, b sourced) int {
		return strings.Compare(fmt.Sprintf("%s %9d", a.Name, a.Version), fmt.Sprintf("%s %9d", b.Name, b.Version))
	})
	return all, unread
}

func (o *interfaceOptions) list(c *cobra.Command) error {
	s := screenOf(c)
	all, err := o.known(c.Context())
	switch {
	case apierrors.IsForbidden(err):
		s.lacks(fmt.Sprintf("note: %s: %v", shown(all), err))
	case err != nil && o.asked():
		return err
	case err != nil:
		s.note(fmt.Sprintf("note: %s: %v", shown(all), err))
	}
	lines := make([]interfaceLine, len(all))
	for i, known := range all {
		lines[i] = interfaceLine{Name: known.Name, Version: known.Version, From: known.from, Description: known.Description}
	}
	return o.output.print(s, lines, func() error {
		t := s.table("NAME", "VERSION", "FROM", "DESCRIPTION")
		for _, l := range lines {
			t.row(l.Name, l.Version, l.From, firstSentence(l.Description))
		}
		return t.print()
	})
}

func (o *interfaceOptions) show(c *cobra.Command, name string) error {
	s := screenOf(c)
	all, failed := o.known(c.Context())
	found, err := findInterface(all, name)
	switch {
	case err != nil && failed != nil && o.asked() && !apierrors.IsForbidden(failed):
		return failed
	case err != nil && failed != nil:
		return fmt.Errorf("%w; %s: %w", err, shown(all), failed)
	case err != nil:
		return err
	case apierrors.IsForbidden(failed):
		s.lacks(fmt.Sprintf("note: %s, so that the cluster may have a newer version: %v", shown(all), failed))
	}
	line := describe(found)
	return o.output.print(s, line, func() error { return line.print(s) })
}

// asked reports whether the user chose a cluster: then the built-in interfaces are not the answer.
func (o *interfaceOptions) asked() bool { return o.kubeconfig != "" || o.context != "" }

// shown tells which interfaces are known where not all could be read.
func shown(all []sourced) string {
	if slices.ContainsFunc(all, func(i sourced) bool { return i.from == published }) {
		return "not all interfaces of the cluster are shown"
	}
	return "only the built-in interfaces are shown"
}

// findInterface returns the interface of a name, the newest version unless the name has one.
func findInterface(all []sourced, written string) (sourced, error) {
	name, version, versioned := strings.Cut(written, "@")
	var found *sourced
	for i, known := range all {
		if known.Name == name && (!versioned || strconv.Itoa(known.Version) == version) {
			found = &all[i]
		}
	}
	if found != nil {
		return *found, nil
	}
	var versions []string
	for _, known := range all {
		if known.Name == name {
			versions = append(versions, strconv.Itoa(known.Version))
		}
	}
	if len(versions) > 0 {
		return sourced{}, fmt.Errorf("cannot find interface %s: the versions of %s are %s", written, name, strings.Join(versions, ", "))
	}
	suggested := ""
	if near := nearInterface(all, name); near != "" {
		suggested = fmt.Sprintf(": did you mean %s?", near)
	}
	return sourced{}, fmt.Errorf("cannot find interface %s%s (orcon interfaces lists them)", written, suggested)
}

// completeInterfaces completes the name of an interface.
func completeInterfaces(ctx context.Context, known func(context.Context) ([]sourced, error)) []cobra.Completion {
	return soon(func() []cobra.Completion {
		all, _ := known(ctx)
		return interfaceNames(all)
	})
}

// nearInterface returns the known interface that a name was most likely meant to be; "" if none is
// near.
func nearInterface(all []sourced, name string) string {
	var known []schema.Interface
	for _, i := range all {
		known = append(known, i.Interface)
	}
	return schema.NewCatalog(known...).Near(name)
}

func interfaceNames(all []sourced) []string {
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	return slices.Compact(names)
}

// places are the four bags of an interface.
func places() []schema.Place {
	return []schema.Place{schema.ProviderApplication, schema.ProviderUnit, schema.RequirerApplication, schema.RequirerUnit}
}
