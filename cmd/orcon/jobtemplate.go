package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

func newJobTemplate() *cobra.Command {
	c := &cobra.Command{
		Use:   "template",
		Short: "Build templates from content, push content, and list versions",
		Long: `job template builds what runs of a JobTemplate are made from: content, such as a folder of OpenTofu, becomes a layer over
the image of a JobTemplateType, without a container engine and bit by bit the same each time. The result is a
JobTemplateVersion, which never changes.`,
		Example: `  orcon job template build ./web -f web.yaml -f type.yaml --image registry.example.org/templates/web -o image.tar
  orcon job template push ./web --template web -n shop
  orcon job template list -n shop`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newTemplateBuild(), newTemplateDockerfile(), newTemplatePush(), newTemplateList(), newTemplateShow())
	return c
}

// templateListOptions are the flags of job template list.
type templateListOptions struct {
	jobOptions

	output output
	// types lists JobTemplateTypes in place of versions.
	types bool
}

// shownVersion is one line of job template list.
type shownVersion struct {
	Template string `json:"template"`
	Version  string `json:"version"`
	// Current is "*" for the version that is run if a JobWorkspace names none.
	Current string   `json:"current,omitempty"`
	Type    string   `json:"type"`
	Source  string   `json:"source"`
	Image   string   `json:"image"`
	Users   []string `json:"users,omitempty"`
}

func newTemplateList() *cobra.Command {
	var o templateListOptions
	c := &cobra.Command{
		Use:   "list [TEMPLATE]",
		Short: "List versions of templates, or types",
		Long: `job template list lists the JobTemplateVersions of a namespace, or those of one JobTemplate. A star marks the version that
is run by each JobWorkspace which names none. With --types it lists the JobTemplateTypes, which templates are made from.

The cluster role view is enough; any user may list types.

Exit codes: 0 listed, 2 the command failed.`,
		Example: `  orcon job template list -n shop
  orcon job template list web -n shop -o json
  orcon job template list --types`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, strings.Join(args, "")) },
	}
	o.flags(c)
	o.output.flag(c, asTable, asJSON, asYAML)
	c.Flags().BoolVar(&o.types, "types", false, "list the JobTemplateTypes of the cluster")
	return c
}

func (o *templateListOptions) run(c *cobra.Command, of string) error {
	target, err := o.target("")
	if err != nil {
		return err
	}
	if o.types {
		return o.listTypes(c, target)
	}
	var versions v1alpha1.JobTemplateVersionList
	var templates v1alpha1.JobTemplateList
	err = target.kinds.List(c.Context(), &versions, client.InNamespace(target.namespace))
	if err == nil {
		err = target.kinds.List(c.Context(), &templates, client.InNamespace(target.namespace))
	}
	switch {
	case meta.IsNoMatchError(err):
		return errNoJobs
	case err != nil:
		return fmt.Errorf("cannot list the versions of templates: %w", err)
	}
	current := map[string]bool{}
	for i := range templates.Items {
		current[templates.Items[i].Status.Version] = true
	}
	shown := []shownVersion{}
	for i := range versions.Items {
		v := &versions.Items[i]
		if of != "" && v.Spec.Origin.Template != of {
			continue
		}
		one := shownVersion{
			Template: v.Spec.Origin.Template, Version: v.Name, Type: v.Spec.Origin.Type, Source: v.Spec.Origin.Source, Image: v.Spec.Image,
			Users: v.Status.Users,
		}
		if current[v.Name] {
			one.Current = "*"
		}
		shown = append(shown, one)
	}
	slices.SortFunc(shown, func(a, b shownVersion) int {
		return cmp.Or(cmp.Compare(a.Template, b.Template), cmp.Compare(b.Current, a.Current), cmp.Compare(a.Version, b.Version))
	})
	s := screenOf(c)
	return o.output.print(s, shown, func() error { return printTemplates(s, shown) })
}

// printTemplates prints versions as a table.
func printTemplates(s screen, all []shownVersion) error {
	t := s.table("TEMPLATE", "VERSION", "CURRENT", "TYPE", "USERS", "SOURCE")
	for _, one := range all {
		t.row(one.Template, one.Version, one.Current, one.Type, cmp.Or(strings.Join(one.Users, ", "), "-"), one.Source)
	}
	return t.print()
}

func newTemplateShow() *cobra.Command {
	var o templateListOptions
	c := &cobra.Command{
		Use:   "show VERSION",
		Short: "Show a version of a template",
		Long: `job template show prints a JobTemplateVersion: its image, its parameters and what they are fixed to, its actions, and what
it was made from.

The cluster role view is enough.

Exit codes: 0 shown, 2 the command failed.`,
		Example: `  orcon job template show web-0a1b2c3d4e -n shop`,
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			target, err := o.find(args[0])
			if err != nil {
				return err
			}
			var v v1alpha1.JobTemplateVersion
			cure := "orcon job template list -n " + target.namespace + " lists those that there are"
			if err := target.read(c, "JobTemplateVersion", cure, &v); err != nil {
				return err
			}
			v.ManagedFields = nil
			return o.output.print(screenOf(c), v, nil)
		},
	}
	o.flags(c)
	o.output.flag(c, asYAML, asJSON)
	return c
}
