package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// fleetStatusOptions are the flags of fleet status.
type fleetStatusOptions struct {
	clusterOptions

	all    bool
	output output
}

func newFleetStatus() *cobra.Command {
	var o fleetStatusOptions
	c := &cobra.Command{
		Use:   "status [SET]",
		Short: "Show the IntegrationSets of a cluster, and which members wait for what",
		Long: `fleet status counts the members of each IntegrationSet by their state:

    ready     it is as the data declare, and works
    waiting   it may become ready by itself, or when a person approves its plan
    failed    it needs a person

Below the table it explains each set that is not ready: errors of the data with file and line, data that
cannot be fetched and since when, what each member waits for, and a removal that waits for a person with
the command that confirms it. With SET, or --verbose, it also lists the members with the file and line that
declare them. The cluster role view is enough.

Exit codes: 0 everything is ready, 1 something waits or failed, 2 the command failed.`,
		Example: `  orcon fleet status -n fleet
  orcon fleet status stage -n fleet
  orcon fleet status -A -o json | jq -r '.[].status.faults[]?'`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, strings.Join(args, "")) },
	}
	o.flags(c)
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "every namespace")
	o.output.flag(c, asTable, asJSON, asYAML)
	return c
}

func (o *fleetStatusOptions) run(c *cobra.Command, name string) error {
	kinds, namespace, err := o.open()
	if err != nil {
		return err
	}
	if o.all {
		namespace = ""
	}
	running := lookAtControllers(c.Context(), kinds)
	all, err := readSets(c.Context(), kinds, namespace, running, time.Now())
	err = cmp.Or(err, inNamespace(c.Context(), kinds, namespace, len(all)))
	if err == nil && name != "" {
		all, err = setNamed(all, name, namespace)
	}
	if err != nil {
		return err
	}
	s := screenOf(c)
	if stopped := running.bundlesStopped(); stopped != "" {
		s.note("note: " + stopped)
	}
	if err := o.output.print(s, all, func() error { return printSets(s, all, namespace == "", name != "" || s.verbose) }); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(set shownSet) bool { return set.State != stateReady || set.count(stateReady) < len(set.Members) }) {
		return silentError(exitFailed)
	}
	return nil
}

// setNamed returns the sets of a name.
func setNamed(all []shownSet, name, namespace string) ([]shownSet, error) {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	found := slices.DeleteFunc(slices.Clone(all), func(s shownSet) bool { return s.Name != name })
	if len(found) > 0 {
		return found, nil
	}
	where, cure := "namespace "+namespace, "use -A for every namespace"
	if namespace == "" {
		where, cure = "the cluster", "orcon fleet status -A lists those that there are"
	}
	if near := spelling.Nearest(name, names); near != "" {
		cure = fmt.Sprintf("did you mean %q?", near)
	}
	return nil, fmt.Errorf("no IntegrationSet of %s is named %q: %s", where, name, cure)
}

// printSets prints sets, of all namespaces or of one, and then explains those that need it; with members if so desired.
func printSets(s screen, sets []shownSet, namespaces, members bool) error {
	if len(sets) == 0 {
		s.note("there are no IntegrationSets (orcon fleet status -A shows every namespace)")
		return nil
	}
	if err := tableOfSets(s, sets, namespaces).print(); err != nil {
		return err
	}
	for _, set := range sets {
		if members {
			if err := set.printMembers(s); err != nil {
				return err
			}
		}
		set.explain(s)
	}
	return nil
}

// tableOfSets returns a table with a line for each set.
func tableOfSets(s screen, sets []shownSet, namespaces bool) *table {
	header := []string{"SET", "STATE", "MEMBERS", "READY", "WAITING", "FAILED", "DATA"}
	if namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	t := s.table(header...)
	for _, set := range sets {
		row := []any{set.Name, cell{set.State, stateStyles()[set.State]}, set.Status.Members, set.count(stateReady), set.count(stateWaiting),
			set.count(stateFailed), strings.Join(set.Status.Data, ", ")}
		if namespaces {
			row = append([]any{set.Namespace}, row...)
		}
		t.row(row...)
	}
	return t
}

// printMembers prints a line for each member.
func (s shownSet) printMembers(to screen) error {
	if len(s.Members) == 0 {
		return nil
	}
	fmt.Fprintln(to.out)
	t := to.table("INTEGRATION", "NAMESPACE", "STATE", "DECLARED", "BUNDLEDEPLOYMENT")
	for _, m := range s.Members {
		t.row(m.Integration, m.Namespace, cell{m.State, stateStyles()[m.State]}, m.Declared, m.Name)
	}
	return t.print()
}

// explain prints why the set and its members are not ready, and what helps.
func (s shownSet) explain(to screen) {
	var lines []string
	if s.State != stateReady {
		lines = append(lines, s.Message)
	}
	if s.Stale != "" {
		lines = append(lines, s.Stale)
	}
	lines = slices.Concat(lines, s.otherFaults(), s.waits())
	for _, m := range s.Members {
		for _, problem := range m.Problems {
			lines = append(lines, m.title()+": "+problem)
		}
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(to.out, "\n%s: %s\n", to.paint(bold, s.Namespace+"/"+s.Name), to.paint(stateStyles()[s.State], s.State))
	for _, line := range lines {
		fmt.Fprint(to.out, wrap(line, "  ", to.width))
	}
}

// otherFaults returns the faults that the message does not begin with.
func (s shownSet) otherFaults() []string {
	return slices.DeleteFunc(slices.Clone(s.Status.Faults), func(fault string) bool { return strings.HasPrefix(s.Message, fault) })
}

// waits returns what members wait for. What a removal says for all is not repeated.
func (s shownSet) waits() []string {
	var lines []string
	removal := s.Status.Removal
	if removal != nil {
		lines = append(lines, fmt.Sprintf("to let the %d workloads go: %s", removal.Workloads, s.Confirm))
	}
	for _, w := range s.Status.Waits {
		why := w.Message
		if removal != nil && why == removal.Message {
			why = "would go"
		}
		lines = append(lines, w.Member+": "+why)
	}
	return lines
}
