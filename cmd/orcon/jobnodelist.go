package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// shownNode is one line of job node list.
type shownNode struct {
	Name       string       `json:"name"`
	Phase      string       `json:"phase"`
	Seen       *metav1.Time `json:"seen,omitempty"`
	Capacity   int32        `json:"capacity"`
	Namespaces []string     `json:"namespaces"`
	Key        string       `json:"key,omitempty"`
	Message    string       `json:"message,omitempty"`
}

// nodeListOptions are the flags of job node list.
type nodeListOptions struct {
	nodeOptions

	output output
}

func newNodeList() *cobra.Command {
	var o nodeListOptions
	c := &cobra.Command{
		Use:   "list",
		Short: "List RunNodes",
		Long: `job node list lists the RunNodes, whether they take runs, and why not.

It needs permission to list RunNodes, which ClusterRole orcon-job-nodes has.

Exit codes: 0 listed, 2 the command failed.`,
		Example: `  orcon job node list
  orcon job node list -o json | jq -r '.[] | select(.phase == "Silent") | .name'`,
		Args: arguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.flags(c)
	o.output.flag(c, asTable, asJSON, asYAML)
	return c
}

func (o *nodeListOptions) run(c *cobra.Command) error {
	kinds, _, err := o.open()
	if err != nil {
		return err
	}
	var list v1alpha1.RunNodeList
	switch err := kinds.List(c.Context(), &list); {
	case meta.IsNoMatchError(err):
		return errNoJobs
	case err != nil:
		return fmt.Errorf("cannot list RunNodes: %w", err)
	}
	shown := []shownNode{}
	for _, n := range list.Items {
		one := shownNode{
			Name: n.Name, Phase: n.Status.Phase, Seen: n.Status.Seen, Capacity: max(n.Spec.Capacity, 1), Namespaces: n.Spec.Namespaces,
		}
		if n.State != nil {
			one.Key = n.State.Key
		}
		if why, found := value.Why(n.Status.Conditions); found {
			one.Message = why.Message
		}
		shown = append(shown, one)
	}
	slices.SortFunc(shown, func(a, b shownNode) int { return strings.Compare(a.Name, b.Name) })
	s := screenOf(c)
	return o.output.print(s, shown, func() error { return printNodes(s, shown, time.Now()) })
}

// printNodes prints a table of RunNodes.
func printNodes(s screen, all []shownNode, now time.Time) error {
	if len(all) == 0 {
		s.note("there are no RunNodes: orcon job node join NAME prints a token for one")
		return nil
	}
	t := s.table("NODE", "PHASE", "SEEN", "CAPACITY", "NAMESPACES", "MESSAGE")
	t.below = true
	for _, n := range all {
		seen := ""
		if n.Seen != nil {
			seen = duration.HumanDuration(now.Sub(n.Seen.Time))
		}
		t.row(n.Name, cell{n.Phase, phaseStyle(n.Phase)}, seen, n.Capacity, strings.Join(n.Namespaces, ","), n.Message)
	}
	return t.print()
}
