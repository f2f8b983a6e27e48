package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// jobRunsOptions are the flags of job runs.
type jobRunsOptions struct {
	jobOptions

	all, past bool
	output    output
}

// shownRun is one line of job runs.
type shownRun struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Workspace string    `json:"workspace"`
	Action    string    `json:"action"`
	Created   time.Time `json:"created"`
	// Phase is empty until the controller has seen the run.
	Phase string `json:"phase"`
	// Attempts counts its starts.
	Attempts int32  `json:"attempts,omitempty"`
	Message  string `json:"message,omitempty"`
	// End is set for a run that has ended.
	End *v1alpha1.JobRunEnd `json:"end,omitempty"`
}

func newJobRuns() *cobra.Command {
	var o jobRunsOptions
	c := &cobra.Command{
		Use:   "runs [WORKSPACE]",
		Short: "List runs, the newest first",
		Long: `job runs lists the runs of a namespace, or those of one JobWorkspace, the newest first: what each one is doing, or how
it ended. STATE says what became of its state: Committed, Unchanged, None, Orphaned, Failed or Unknown.

Ten runs of a JobWorkspace that have ended stay as objects. --past lists the older ones too, as long as their logs are
kept.

The cluster role view is enough.

Exit codes: 0 listed, 2 the command failed.`,
		Example: `  orcon job runs -n shop
  orcon job runs web -n shop
  orcon job runs web -n shop --past
  orcon job runs -A -o json | jq -r '.[] | select(.phase == "Lost") | .namespace + "/" + .name'`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, strings.Join(args, "")) },
	}
	o.flags(c)
	c.ValidArgsFunction = o.complete("JobWorkspace")
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "every namespace")
	c.Flags().BoolVar(&o.past, "past", false, "runs whose objects are gone too, of one JobWorkspace")
	exclude(c, "all-namespaces", "namespace")
	o.output.flag(c, asTable, asJSON, asYAML)
	return c
}

func (o *jobRunsOptions) run(c *cobra.Command, of string) error {
	if o.past && of == "" {
		return errors.New("cannot list the past runs of all: name one JobWorkspace, or leave --past out")
	}
	target, err := o.chosen(c, of)
	if err != nil {
		return err
	}
	var list v1alpha1.JobRunList
	switch err := target.kinds.List(c.Context(), &list, client.InNamespace(target.namespace)); {
	case meta.IsNoMatchError(err):
		return errNoJobs
	case err != nil:
		return fmt.Errorf("cannot list JobRuns: %w", err)
	}
	if o.past {
		if err := addPast(c.Context(), target, &list); err != nil {
			return err
		}
	}
	shown := []shownRun{}
	for i := range list.Items {
		if of == "" || list.Items[i].Spec.Workspace == target.name {
			shown = append(shown, shownRunOf(list.Items[i]))
		}
	}
	slices.SortFunc(shown, func(a, b shownRun) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if err := inNamespace(c.Context(), target.kinds, target.namespace, len(shown)); err != nil {
		return err
	}
	s := screenOf(c)
	return o.output.print(s, shown, func() error { return printRuns(s, shown, target.namespace, time.Now()) })
}

// addPast adds the runs of a JobWorkspace whose objects are gone.
func addPast(ctx context.Context, of jobTarget, list *v1alpha1.JobRunList) error {
	request, err := of.request("GET", people.Workspaces, people.PastRuns, false)
	if err != nil {
		return err
	}
	var past v1alpha1.JobRunList
	if err := answer(request.Do(ctx), &past); err != nil {
		return fmt.Errorf("cannot list the past runs of JobWorkspace %s: %w", of, err)
	}
	there := map[types.UID]bool{}
	for _, one := range list.Items {
		there[one.UID] = true
	}
	for _, one := range past.Items {
		if !there[one.UID] {
			list.Items = append(list.Items, one)
		}
	}
	return nil
}

// chosen returns the JobWorkspace whose runs are listed; without a name that of all.
func (o *jobRunsOptions) chosen(c *cobra.Command, of string) (jobTarget, error) {
	if of == "" {
		target, err := o.target("")
		if o.all {
			target.namespace = ""
		}
		return target, err
	}
	target, err := o.find(of)
	if err == nil {
		_, err = target.workspace(c)
	}
	return target, err
}

// shownRunOf returns the line of a run.
func shownRunOf(r v1alpha1.JobRun) shownRun {
	shown := shownRun{
		Namespace: r.Namespace, Name: r.Name, Workspace: r.Spec.Workspace, Action: r.Spec.Action, Created: r.CreationTimestamp.Time,
		Phase: string(r.Status.Phase), Attempts: r.Status.Attempt,
	}
	if why, found := value.Why(r.Status.Conditions); found {
		shown.Message = why.Message
	}
	if r.State != nil && r.State.End != nil {
		end := r.State.End
		shown.End, shown.Phase, shown.Attempts = end, string(end.Phase), end.Attempt
		shown.Message = cmp.Or(end.Message, shown.Message)
	}
	return shown
}

// printRuns prints a table of the runs of a namespace; "" stands for all namespaces.
func printRuns(s screen, all []shownRun, namespace string, now time.Time) error {
	namespaces := namespace == ""
	if len(all) == 0 {
		s.note(fmt.Sprintf("there are no runs: orcon job run WORKSPACE --action ACTION -n %s starts one", cmp.Or(namespace, "NAMESPACE")))
		return nil
	}
	header := []string{"RUN", "WORKSPACE", "ACTION", "PHASE", "ATTEMPTS", "STATE", "AGE", "MESSAGE"}
	if namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	t := s.table(header...)
	t.below = true
	for _, r := range all {
		state := ""
		if r.End != nil {
			state = string(r.End.Outcome)
		}
		row := []any{r.Name, r.Workspace, r.Action, cell{r.Phase, phaseStyle(r.Phase)}, r.Attempts, state,
			duration.HumanDuration(now.Sub(r.Created)), r.Message}
		if namespaces {
			row = append([]any{r.Namespace}, row...)
		}
		t.row(row...)
	}
	return t.print()
}

// phaseStyle returns the colour of a phase.
func phaseStyle(phase string) style {
	switch phase {
	case "Succeeded", "Ready":
		return good
	case "Failed", "Lost", "TimedOut", "NeedsRecovery", "NeedsAccept", "StoreAhead":
		return bad
	}
	return plain
}
