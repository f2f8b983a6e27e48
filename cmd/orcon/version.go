package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
)

// versions are those of the program and of a cluster.
type versions struct {
	Client string `json:"client"`
	// Kubernetes is the version of the API server; empty if it was not asked or does not answer.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Installed are the images of Orcon in the cluster.
	Installed []installation.Image `json:"installed,omitempty"`
}

// versionOptions are the flags of version.
type versionOptions struct {
	clusterOptions

	client bool
	output output
}

func newVersion() *cobra.Command {
	var o versionOptions
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of orcon, of Kubernetes, and of Orcon in the cluster",
		Long: `version prints the version of this program and, if there is a cluster, those of Kubernetes and of
the images of Orcon that are installed there. Without a cluster it prints its own.

Exit codes: 0 printed, 2 the command failed.`,
		Example: "  orcon version\n  orcon version --client\n  orcon version -o json | jq -r .kubernetes",
		Args:    arguments,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.flags(c)
	_ = c.Flags().MarkHidden("namespace") // versions belong to the cluster
	c.Flags().BoolVar(&o.client, "client", false, "the version of this program only, without a cluster")
	o.output.flag(c, asTable, asJSON, asYAML)
	return c
}

func (o *versionOptions) run(c *cobra.Command) error {
	s := screenOf(c)
	v := versions{Client: version}
	var unread error
	if !o.client {
		unread = o.server(c.Context(), &v)
	}
	if err := o.output.print(s, v, func() error { return printVersions(s, v) }); err != nil {
		return err
	}
	if o.kubeconfig != "" || o.context != "" || c.Context().Err() != nil {
		return unread // of a cluster that was asked for
	}
	if unread != nil {
		s.note(fmt.Sprintf("note: the versions of the cluster are not shown: %v", unread))
	}
	return nil
}

func printVersions(s screen, v versions) error {
	fmt.Fprintln(s.out, "orcon", v.Client)
	if v.Kubernetes == "" {
		return nil
	}
	fmt.Fprintln(s.out, "Kubernetes", v.Kubernetes)
	if len(v.Installed) == 0 {
		s.note("Orcon is not installed in this cluster, or you may not list its Deployments")
		return nil
	}
	fmt.Fprintln(s.out)
	t := s.table("NAMESPACE", "DEPLOYMENT", "VERSION", "IMAGE")
	for _, i := range v.Installed {
		t.row(i.Namespace, i.Deployment, i.Version, i.Image)
	}
	return t.print()
}

// server reads the versions of a cluster.
func (o *versionOptions) server(ctx context.Context, v *versions) error {
	config, _, err := o.load()
	if err != nil {
		return err
	}
	v.Kubernetes, v.Installed, err = installation.Versions(ctx, config)
	return err
}
