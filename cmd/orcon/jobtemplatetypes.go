package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// shownType is one line of job template list --types.
type shownType struct {
	Name    string   `json:"name"`
	Tool    string   `json:"tool,omitempty"`
	Mode    string   `json:"mode"`
	Safety  string   `json:"safety"`
	Actions []string `json:"actions"`
	// Parameters are their names; none for a type that cannot be used.
	Parameters []string `json:"parameters,omitempty"`
	// Base is the image of the type.
	Base string `json:"image"`
	// Problem is why the type cannot be used.
	Problem string `json:"problem,omitempty"`
}

// listTypes prints the types of the cluster.
func (o *templateListOptions) listTypes(c *cobra.Command, target jobTarget) error {
	var list v1alpha1.JobTemplateTypeList
	switch err := target.kinds.List(c.Context(), &list); {
	case meta.IsNoMatchError(err):
		return errNoJobs
	case err != nil:
		return fmt.Errorf("cannot list the types of templates: %w", err)
	}
	shown := []shownType{}
	for i := range list.Items {
		shown = append(shown, showType(&list.Items[i]))
	}
	slices.SortFunc(shown, func(a, b shownType) int { return cmp.Compare(a.Name, b.Name) })
	s := screenOf(c)
	return o.output.print(s, shown, func() error {
		t := s.table("TYPE", "TOOL", "MODE", "SAFETY", "ACTIONS", "PARAMETERS", "IMAGE")
		for _, one := range shown {
			t.row(one.Name, cmp.Or(one.Tool, "-"), one.Mode, one.Safety, strings.Join(one.Actions, ", "),
				cmp.Or(one.Problem, strings.Join(one.Parameters, ", "), "-"), one.Base)
		}
		return t.print()
	})
}

// showType describes a type.
func showType(o *v1alpha1.JobTemplateType) shownType {
	one := shownType{
		Name: o.Name, Tool: string(o.Spec.Type), Mode: string(cmp.Or(o.Spec.Mode, v1alpha1.ModeImage)),
		Safety: string(cmp.Or(o.Spec.Safety, v1alpha1.SafetyExclusive)), Base: o.Spec.Image,
	}
	for _, a := range o.Spec.Actions {
		one.Actions = append(one.Actions, a.Name)
	}
	t, err := convert.ToType(o)
	if err != nil {
		one.Problem = err.Error()
		return one
	}
	one.Parameters = t.Parameters.Names()
	return one
}
