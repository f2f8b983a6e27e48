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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// endedSide is one line of ends.
type endedSide struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	ID        int64  `json:"id"`
	Role      string `json:"role"`
	// Endpoint is the side's own, and With the other side's, each as application:endpoint.
	Endpoint string    `json:"endpoint"`
	With     string    `json:"with"`
	Ended    time.Time `json:"ended"`
	State    string    `json:"state"`
	// OwedTo lists the units that have yet to answer, as application/number.
	OwedTo []string `json:"owedTo,omitempty"`
}

// endsOptions are the flags of ends.
type endsOptions struct {
	clusterOptions

	everywhere bool
	output     output
}

func newEnds() *cobra.Command {
	var o endsOptions
	c := &cobra.Command{
		Use:   "ends",
		Short: "List the ends of relations that are not handled yet, and decide about them",
		Long: `ends shows the relations that have ended and whose end is still owed to handlers, or held.

An end is owed to the handlers of a side until they have handled it. It is held if too many relations
of a provider ended at once: no handler runs for it, and no data is lost, until a person decides in the
provider's namespace.

Exit codes: 0 listed, 2 the command failed.`,
		Example: "  orcon ends -n shop\n  orcon ends -A -o json",
		Args:    arguments,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.flags(c)
	c.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "every namespace")
	exclude(c, "namespace", "all-namespaces")
	o.output.flag(c, asTable, asJSON, asYAML)
	c.AddCommand(
		newChoice(choice{verb: "confirm", value: v1alpha1.EndConfirm, short: "Let handlers run for ends that are held",
			long: `confirm lets handlers run for ends that are held. For a relation that has not ended yet, it keeps the
end from being held, however many end with it.`,
			done: "handlers run for its end"}),
		newChoice(choice{verb: "keep", value: v1alpha1.EndKeep, short: "Take back ends that are held",
			long: `keep takes back ends that are held: for their handlers, the relations have not ended. They go on with
their ids and their data when they are declared or restored again.`,
			done: "the relation goes on when it is declared again"}),
		newChoice(choice{verb: "waive", value: v1alpha1.EndWaive, short: "Close ends without running handlers",
			long: `waive closes ends without running handlers, for applications that never come back. What the handlers
have made, such as users and databases, stays, and is left to you.`,
			done: "no handler runs for its end"}),
	)
	return c
}

func (o *endsOptions) run(c *cobra.Command) error {
	kinds, namespace, err := o.open()
	if err != nil {
		return err
	}
	if o.everywhere {
		namespace = ""
	}
	sides, err := endedSides(c.Context(), kinds, namespace)
	if err := cmp.Or(err, inNamespace(c.Context(), kinds, namespace, len(sides))); err != nil {
		return err
	}
	lines := make([]endedSide, 0, len(sides))
	for i := range sides {
		lines = append(lines, endLine(&sides[i]))
	}
	s := screenOf(c)
	return o.output.print(s, lines, func() error {
		if len(lines) == 0 {
			s.note(noEnds(namespace))
			return nil
		}
		t := s.table("NAMESPACE", "NAME", "ENDPOINT", "WITH", "ENDED", "STATE")
		for _, e := range lines {
			t.row(e.Namespace, e.Name, e.Endpoint, e.With, e.Ended.Format(time.RFC3339), cell{e.stateText(), warns})
		}
		return t.print()
	})
}

// noEnds says that there are no ends in a namespace, or in any for "".
func noEnds(namespace string) string {
	if namespace == "" {
		return "no end is owed or held"
	}
	return "no end is owed or held in namespace " + namespace + " (orcon ends -A shows every namespace)"
}

// endedSides lists the sides of ended relations, of every namespace for "", in order.
func endedSides(ctx context.Context, kinds client.Reader, namespace string) ([]v1alpha1.RelationSide, error) {
	var list v1alpha1.RelationSideList
	if err := kinds.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, errNotInstalled
		}
		return nil, fmt.Errorf("cannot list ends: %w", err)
	}
	ended := slices.DeleteFunc(list.Items, func(s v1alpha1.RelationSide) bool { return s.State.End == nil })
	slices.SortFunc(ended, func(a, b v1alpha1.RelationSide) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return ended, nil
}

func endLine(s *v1alpha1.RelationSide) endedSide {
	here, there := s.Spec.Requirer, s.Spec.Provider
	if s.Spec.Role == v1alpha1.RoleProvider {
		here, there = there, here
	}
	state := s.State.End.State
	if state == "" {
		state = "Owed"
	}
	return endedSide{
		Namespace: s.Namespace, Name: s.Name, ID: s.Spec.ID, Role: s.Spec.Role, Endpoint: endText(here), With: endText(there),
		Ended: s.State.End.Time.UTC(), State: string(state), OwedTo: s.State.End.PendingUnits,
	}
}

func endText(e v1alpha1.RelationEnd) string {
	text := e.Application + ":" + e.Endpoint
	if e.Namespace != "" {
		text = e.Application + "." + e.Namespace + ":" + e.Endpoint
	}
	return text
}

// stateText returns the state of an end, and the units that it is owed to.
func (e endedSide) stateText() string {
	switch {
	case e.State == string(v1alpha1.EndHeld) && e.Role == string(v1alpha1.RoleRequirer):
		return "Held: the provider's namespace decides"
	case e.State == string(v1alpha1.EndHeld):
		return "Held: orcon ends confirm, or orcon ends keep"
	case len(e.OwedTo) > 0:
		return "Owed to " + strings.Join(e.OwedTo, ", ")
	case e.State == string(v1alpha1.EndHandled):
		return e.State
	}
	return "Owed to the next unit that leads"
}

// choice is a decision of a person about ends.
type choice struct {
	verb, value, short, long string
	// done tells the outcome.
	done string
}

// choiceOptions are the flags of a choice.
type choiceOptions struct {
	clusterOptions
	choice

	all bool
}

func newChoice(about choice) *cobra.Command {
	o := choiceOptions{choice: about}
	c := &cobra.Command{
		Use: o.verb + " [NAME...]", Short: o.short,
		Long:    o.long + "\n\nName the sides that orcon ends lists, or use --all.\n\nExit codes: 0 done, 2 the command failed.",
		Example: "  orcon ends " + o.verb + " SIDE -n shop\n  orcon ends " + o.verb + " --all -n shop",
		RunE:    func(c *cobra.Command, names []string) error { return o.run(c, names) },
	}
	o.flags(c)
	c.ValidArgsFunction = o.completeSides
	which := "every end of the namespace that is held"
	if o.value == v1alpha1.EndWaive {
		which = "every end of the namespace that is owed or held"
	}
	c.Flags().BoolVar(&o.all, "all", false, which)
	return c
}

// completeSides completes the names of sides whose ends the choice may be made for, without those that are named already.
func (o *choiceOptions) completeSides(c *cobra.Command, named []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return soon(func() []cobra.Completion {
		kinds, namespace, err := o.open()
		if err != nil {
			return nil
		}
		sides, err := endedSides(c.Context(), kinds, namespace)
		if err != nil {
			return nil
		}
		var names []cobra.Completion
		for i := range sides {
			if o.allowed(&sides[i]) == nil && !slices.Contains(named, sides[i].Name) {
				names = append(names, sides[i].Name)
			}
		}
		return names
	}), cobra.ShellCompDirectiveNoFileComp
}

// run decides about each side. One that cannot be changed does not hold back the rest.
func (o *choiceOptions) run(c *cobra.Command, names []string) error {
	kinds, namespace, err := o.open()
	if err != nil {
		return err
	}
	sides, err := o.sides(c.Context(), kinds, namespace, names)
	if err := cmp.Or(err, inNamespace(c.Context(), kinds, namespace, len(sides))); err != nil {
		return err
	}
	if len(sides) == 0 {
		screenOf(c).note("there is no such end in namespace " + namespace + ": orcon ends -A lists those of every namespace")
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.EndKey, o.value)
	var failed []error
	for i := range sides {
		outcome := o.done
		err := kinds.Patch(c.Context(), &sides[i], client.RawPatch(types.MergePatchType, patch))
		switch {
		case apierrors.IsNotFound(err):
			outcome = "its end is over already"
		case err != nil:
			failed = append(failed, fmt.Errorf("cannot %s the end of relation side %s: %w", o.verb, sides[i].Name, err))
			continue
		}
		if _, err := fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", sides[i].Name, outcome); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// sides returns the sides that the command is about. All are checked before any is changed.
func (o *choiceOptions) sides(ctx context.Context, kinds client.Reader, namespace string, names []string) ([]v1alpha1.RelationSide, error) {
	if o.all == (len(names) > 0) {
		return nil, fmt.Errorf("cannot %s: name the ends that orcon ends lists, or use --all", o.verb)
	}
	if o.all {
		all, err := endedSides(ctx, kinds, namespace)
		return slices.DeleteFunc(all, func(s v1alpha1.RelationSide) bool {
			held := s.State.End.State == v1alpha1.EndHeld && s.Spec.Role != v1alpha1.RoleRequirer
			return !held && o.value != v1alpha1.EndWaive
		}), err
	}
	var all []v1alpha1.RelationSide
	for _, name := range names {
		var s v1alpha1.RelationSide
		if err := kinds.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s); err != nil {
			err = fmt.Errorf("cannot %s the end of relation side %s: %w", o.verb, name, err)
			if apierrors.IsNotFound(err) {
				err = fmt.Errorf("%w: orcon ends -n %s lists the ends", err, namespace)
			}
			return nil, err
		}
		if err := o.allowed(&s); err != nil {
			return nil, fmt.Errorf("cannot %s the end of relation side %s: %w", o.verb, name, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// allowed returns why the choice makes no sense for a side.
func (o *choiceOptions) allowed(s *v1alpha1.RelationSide) error {
	held := s.State.End != nil && s.State.End.State == v1alpha1.EndHeld
	switch {
	case o.value != v1alpha1.EndWaive && s.Spec.Role == v1alpha1.RoleRequirer:
		return fmt.Errorf("the provider decides: orcon ends -n %s", cmp.Or(s.Spec.Provider.Namespace, s.Namespace))
	case o.value != v1alpha1.EndKeep || held:
		return nil
	case s.State.End == nil:
		return errors.New("the relation has not ended")
	}
	return errors.New("it is not held: handlers have it already; a relation that is declared again is a new one")
}
