package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
)

func newJobNode() *cobra.Command {
	c := &cobra.Command{
		Use:   "node",
		Short: "Let machines outside of the cluster carry out runs",
		Long: `job node is about RunNodes: machines outside of the cluster that carry out runs as containers. Their agents dial out
to Orcon. A machine joins by a token, waits until a person adopts its key, and then takes runs of the namespaces that it
permits, for JobWorkspaces that name it in spec.target.`,
		Example: `  orcon job node join lab-1 > token
  orcon job node approve lab-1 --namespaces shop
  orcon job node list`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newNodeJoin(), newNodeApprove(), newNodeDrain(), newNodeRevoke(), newNodeList())
	return c
}

// nodeOptions are the flags of commands about RunNodes, which have no namespace.
type nodeOptions struct{ clusterOptions }

func (o *nodeOptions) flags(c *cobra.Command) { clusterFlags(c, &o.kubeconfig, &o.context) }

// runNode is a RunNode, and what changes it.
type runNode struct {
	v1alpha1.RunNode

	kinds  client.Client
	config *rest.Config
}

// find reads a RunNode. One that is not there has no UID.
func (o *nodeOptions) find(c *cobra.Command, name string) (*runNode, error) {
	kinds, _, err := o.open()
	if err != nil {
		return nil, err
	}
	config, _, err := o.load()
	if err != nil {
		return nil, err
	}
	n := &runNode{kinds: kinds, config: config}
	n.Name = name
	switch err := kinds.Get(c.Context(), client.ObjectKeyFromObject(&n.RunNode), &n.RunNode); {
	case meta.IsNoMatchError(err):
		return nil, errNoJobs
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cannot read RunNode %s: %w", name, err)
	}
	return n, nil
}

// there reads a RunNode that must be there.
func (o *nodeOptions) there(c *cobra.Command, name string) (*runNode, error) {
	n, err := o.find(c, name)
	if err == nil && n.UID == "" {
		err = fmt.Errorf("there is no RunNode %s: orcon job node list lists those that there are", name)
	}
	return n, err
}

// change changes the spec, unless allowed returns an error.
func (n *runNode) change(ctx context.Context, allowed func() error, edit func(*v1alpha1.RunNodeSpec)) error {
	err := change(ctx, n.kinds, &n.RunNode, func() error {
		err := allowed()
		if err == nil {
			edit(&n.Spec)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot change RunNode %s: %w", n.Name, err)
	}
	return nil
}

func newNodeJoin() *cobra.Command {
	var o nodeOptions
	c := &cobra.Command{
		Use:   "join NAME",
		Short: "Print a token by which a machine joins as RunNode NAME, once, within 15 minutes",
		Long: `job node join creates RunNode NAME if it is not there, and prints a token. Put it into a file of the machine, and start
its agent there: job-runner agent --join FILE. The token is good for 15 minutes, one machine and this name, and takes the
place of an earlier one. It has the address of Orcon, and how the machine knows that it is Orcon: treat it as a password.

The machine gets no run before orcon job node approve. Where another machine has joined by that name and was adopted, that
one goes on until then.

It needs permission to read and create RunNodes, and to create runnodes/token in API group jobs.orcon.tengu.io, which
ClusterRole orcon-job-nodes has.

Exit codes: 0 printed, 2 the command failed, 130 interrupted.`,
		Example: "  orcon job node join lab-1 > token",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			n, err := o.find(c, args[0])
			if err == nil && n.UID == "" {
				err = n.kinds.Create(c.Context(), &n.RunNode)
			}
			if err != nil {
				return err
			}
			word, err := n.token(c.Context())
			if err != nil {
				return fmt.Errorf("cannot make a token for RunNode %s: %w", n.Name, err)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), word)
			return err
		},
	}
	o.flags(c)
	return c
}

// token requests a token.
func (n *runNode) token(ctx context.Context) (string, error) {
	request, err := peopleRequest(n.config, "POST", people.ClusterPath(people.Nodes, n.Name, people.Tokens))
	if err != nil {
		return "", err
	}
	var t people.NodeToken
	err = answer(request.Do(ctx), &t)
	return t.Token, err
}

// approveNodeOptions are the flags of job node approve.
type approveNodeOptions struct {
	nodeOptions

	key        string
	namespaces []string
	accepted   []string
	capacity   int32
	yes        bool
}

// maxCapacity is how many runs a RunNode carries out at most.
const maxCapacity = 100

func newNodeApprove() *cobra.Command {
	var o approveNodeOptions
	c := &cobra.Command{
		Use:   "approve NAME",
		Short: "Adopt the key of a machine that has joined, so that it takes runs",
		Long: `job node approve adopts the key with which a machine has joined as RunNode NAME, and ends a suspension. The agent
logs its key when it starts: compare it before, or give it by --key. If another machine is adopted, --key must say which of
the two the RunNode is to be. The other one is refused from then on, and its runs are lost.

--namespaces adds namespaces whose runs the machine may carry out; without any it takes none. To take one away, remove it
from spec.namespaces by kubectl edit runnode NAME: runs that go on end as usual. --capacity is how many runs it carries out
at once, from 1 to 100.

A machine tests itself before it takes runs: whether it carries them out as the contract of runners promises. One that
does not takes none, and orcon job node list shows what differs. --accept names checks that it may fail from now on, and
takes the place of those that were accepted before; --accept "" accepts none.

It needs permission to read and patch RunNodes, which ClusterRole orcon-job-nodes has.

Exit codes: 0 adopted, 2 the command failed, 130 interrupted.`,
		Example: `  orcon job node approve lab-1 --namespaces shop
  orcon job node approve lab-1 --key sha256:4f2c… --namespaces shop,test --capacity 4 --yes
  orcon job node approve lab-1 --accept "out of memory" --yes`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.key, "key", "", "key that the agent has logged; another one is refused")
	c.Flags().StringSliceVar(&o.namespaces, "namespaces", nil, "namespaces whose runs it may carry out, beside those that it may now")
	c.Flags().StringArrayVar(&o.accepted, "accept", nil,
		"check of the runner contract that it may fail; may be repeated (default: as it is, at first none)")
	c.Flags().Int32Var(&o.capacity, "capacity", 0, "how many runs it carries out at once (default: as it is, at first 1)")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	return c
}

func (o *approveNodeOptions) run(c *cobra.Command, name string) error {
	if err := o.bounded(c); err != nil {
		return err
	}
	n, err := o.there(c, name)
	if err != nil {
		return err
	}
	key, err := o.chosen(n)
	if err != nil {
		return err
	}
	o.remark(c, n.kinds)
	question := o.question(n, key)
	if question != "" && !o.yes {
		if err := ask(c, question); err != nil {
			return err
		}
	}
	same := func() error {
		now, err := o.chosen(n)
		if err == nil && o.question(n, now) != question {
			err = errors.New("another machine has joined meanwhile: run this again")
		}
		return err
	}
	if err := n.change(c.Context(), same, func(s *v1alpha1.RunNodeSpec) { o.adopt(c, s, key) }); err != nil {
		return err
	}
	permitted := "but takes no runs: --namespaces adds namespaces whose runs it may carry out"
	if len(n.Spec.Namespaces) > 0 {
		permitted = "for runs of namespaces " + strings.Join(n.Spec.Namespaces, ", ")
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "RunNode %s is adopted, %s\n", name, permitted)
	return err
}

// adopt changes the spec to a key, and to what the flags say.
func (o *approveNodeOptions) adopt(c *cobra.Command, s *v1alpha1.RunNodeSpec, key string) {
	s.Key, s.Order = key, ""
	s.Namespaces = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.Namespaces, o.namespaces))))
	if o.capacity > 0 {
		s.Capacity = o.capacity
	}
	if c.Flags().Changed("accept") {
		s.Accepted = slices.DeleteFunc(slices.Clone(o.accepted), func(name string) bool { return name == "" })
	}
}

// chosen returns the key to adopt, or why none can be.
func (o *approveNodeOptions) chosen(n *runNode) (string, error) {
	switch {
	case n.State == nil || n.State.Key == "":
		return "", fmt.Errorf("no machine has joined as RunNode %s: orcon job node join %s prints a token", n.Name, n.Name)
	case n.Spec.Order == v1alpha1.OrderRevoked:
		return "", fmt.Errorf("RunNode %s is revoked, which is final: delete it, then orcon job node join %s", n.Name, n.Name)
	case n.beside() && o.key != n.State.Key && o.key != n.Spec.Key:
		return "", fmt.Errorf("RunNode %s has a machine, with key %s, and another one waits, with key %s: say by --key which of them it is to be, "+
			"with the whole key", n.Name, n.Spec.Key, n.State.Key)
	case o.key != "" && o.key != n.State.Key && !n.beside():
		return "", fmt.Errorf("the machine that has joined as RunNode %s has key %s, not %s: give the whole key that its agent has logged; "+
			"if that is another one, the machine is not yours: orcon job node join %s prints a token for yours", n.Name, n.State.Key, o.key, n.Name)
	}
	return cmp.Or(o.key, n.State.Key), known(n.Status.Conformance, o.accepted)
}

// question returns what is to be confirmed before a key is adopted; "" for nothing.
func (o *approveNodeOptions) question(n *runNode, key string) string {
	switch {
	case n.beside() && key != n.Spec.Key:
		return fmt.Sprintf("The machine with key %s takes the place of the one with key %s, which is refused from then on: "+
			"the runs that it carries out are lost, and their programs go on there. Adopt it?", key, n.Spec.Key)
	case o.key == "":
		return fmt.Sprintf("The machine has key %s. Is that the key that its agent has logged?", key)
	}
	return ""
}

// beside reports whether another machine waits beside the one that is adopted.
func (n *runNode) beside() bool {
	return n.State != nil && n.State.Former != "" && n.State.Former == n.Spec.Key
}

// bounded returns an error for a capacity, or a namespace, that a RunNode cannot have.
func (o *approveNodeOptions) bounded(c *cobra.Command) error {
	if c.Flags().Changed("capacity") && (o.capacity < 1 || o.capacity > maxCapacity) {
		return fmt.Errorf("--capacity %d is out of range: use a number from 1 to %d", o.capacity, maxCapacity)
	}
	for _, namespace := range o.namespaces {
		if wrong := validation.IsDNS1123Label(namespace); len(wrong) > 0 {
			return fmt.Errorf("--namespaces: %q cannot be the name of a namespace: %s", namespace, strings.Join(wrong, "; "))
		}
	}
	return nil
}

// remark tells which of the namespaces do not exist.
func (o *approveNodeOptions) remark(c *cobra.Command, kinds client.Client) {
	for _, namespace := range o.namespaces {
		if _, err := existing(c.Context(), kinds, namespace); err != nil {
			screenOf(c).note(fmt.Sprintf("namespace %s does not exist yet: the machine takes its runs once it does", namespace))
		}
	}
}

// known returns an error for a check that is neither in the contract of runners nor in the report of the agent.
func known(found *v1alpha1.RunNodeConformance, accepted []string) error {
	var all []string
	for _, check := range conformance.Golden().Checks {
		all = append(all, check.Name)
	}
	if found != nil {
		for _, d := range found.Differences {
			all = append(all, d.Check)
		}
	}
	for _, name := range accepted {
		if name != "" && !slices.Contains(all, name) {
			return fmt.Errorf("--accept %q: there is no such check: use one of %s", name,
				strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), ", "))
		}
	}
	return nil
}

// orderOptions are the flags of commands that give an order about a RunNode.
type orderOptions struct {
	nodeOptions

	yes bool
}

// run gives an order. A question is asked before one that is final.
func (o *orderOptions) run(c *cobra.Command, name, order, question, done string) error {
	n, err := o.there(c, name)
	if err != nil {
		return err
	}
	allowed := func() error {
		if n.Spec.Order == v1alpha1.OrderRevoked && order != v1alpha1.OrderRevoked {
			return fmt.Errorf("RunNode %s is revoked, which is final: it gets no run any more", name)
		}
		return nil
	}
	if err := allowed(); err != nil {
		return err
	}
	if question != "" && n.Spec.Order != v1alpha1.OrderRevoked && !o.yes {
		if err := ask(c, question); err != nil {
			return err
		}
	}
	if err := n.change(c.Context(), allowed, func(s *v1alpha1.RunNodeSpec) { s.Order = order }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "RunNode %s %s\n", name, done)
	return err
}

func newNodeDrain() *cobra.Command {
	var o orderOptions
	c := &cobra.Command{
		Use:   "drain NAME",
		Short: "Give a RunNode no further run; those under way go on",
		Long: `job node drain suspends a RunNode: runs that it carries out go on to their end, and it gets no further one before
orcon job node approve.

It needs permission to read and patch RunNodes, which ClusterRole orcon-job-nodes has.

Exit codes: 0 suspended, 2 the command failed.`,
		Example: "  orcon job node drain lab-1",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c, args[0], v1alpha1.OrderSuspended, "", "gets no further run")
		},
	}
	o.flags(c)
	return c
}

func newNodeRevoke() *cobra.Command {
	var o orderOptions
	c := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Refuse each call of a RunNode, for ever",
		Long: `job node revoke refuses each call of a RunNode from now on, after a confirmation. Its runs are lost after a minute: their
states up to the last checkpoint stay. A revocation is final: delete the RunNode and create it anew to let the machine join
again.

It needs permission to read and patch RunNodes, which ClusterRole orcon-job-nodes has.

Exit codes: 0 revoked, 2 the command failed, 130 interrupted.`,
		Example: `  orcon job node revoke lab-1
  orcon job node revoke lab-1 --yes`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c, args[0], v1alpha1.OrderRevoked,
				fmt.Sprintf("Each call of RunNode %s is refused for ever, and its runs are lost after a minute. Revoke it?", args[0]),
				"is revoked: its runs are lost after a minute, and orcon job unlock decides about them")
		},
	}
	o.flags(c)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	return c
}
