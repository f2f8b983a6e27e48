package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/crdify"
	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// deploymentOptions say which deployment, and how long to wait for it.
type deploymentOptions struct {
	clusterOptions

	timeout time.Duration
	confirm []string
}

func (o *deploymentOptions) flags(c *cobra.Command) {
	o.clusterOptions.flags(c)
	c.Flags().DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long it may take, and the way back as long again")
	c.Flags().StringArrayVar(&o.confirm, "confirm", nil, "KIND/NAME: an object that may be deleted although it cannot be had back")
}

// approve approves a plan with what the user confirms, if that is enough.
func (o *deploymentOptions) approve(p bundle.Plan) (bundle.Approval, error) {
	approval, err := p.Confirm(o.confirm...)
	if err == nil {
		err = p.Confirmed(approval)
	}
	return approval, err
}

// deployed is one deployment of a cluster, and what works on it.
type deployed struct {
	*engine.Engine

	world     *cluster.World
	namespace string
}

// requestTimeout is how long the API server may take for one answer: longer than all webhooks
// that it asks in turn, so that nothing waits for ever.
const requestTimeout = time.Minute

// deploymentName is what a deployment may be called: its name stands in those of Secrets.
const deploymentName = `^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$`

// named returns an error if nothing can be called that.
func named(name string) error {
	if !regexp.MustCompile(deploymentName).MatchString(name) {
		return fmt.Errorf("cannot use name %q: write at most 52 small letters, digits and dashes, for instance --name shop", name)
	}
	return nil
}

// connect returns the deployment of a name, and what is stored of it.
func (o *deploymentOptions) connect(c *cobra.Command, name string) (*deployed, error) {
	if err := named(name); err != nil {
		return nil, err
	}
	config, namespace, err := o.load()
	if err != nil {
		return nil, err
	}
	config.Timeout = requestTimeout
	log.SetLogger(log.Log.WithSink(nil)) // the client library has nothing to tell a person
	owner := namespace + "/" + name
	world, err := cluster.New(config, owner)
	if err != nil {
		return nil, err
	}
	world.Definitions = crdify.Judge{}
	identity, err := world.Identity(c.Context())
	if err != nil {
		return nil, err
	}
	progress := newProgress(c.ErrOrStderr())
	d := &deployed{world: world, namespace: namespace, Engine: &engine.Engine{
		Cluster: world, Store: cluster.NewStore(world), Owner: owner, Identity: identity,
		Timeout: o.timeout, Now: time.Now, Tell: progress.tell,
	}}
	if err = d.Load(c.Context()); apierrors.IsForbidden(err) {
		err = o.forbidden(c.Context(), d)
	}
	return d, err
}

// forbidden says which rights the user lacks to have a record, and the commands that give them.
func (o *deploymentOptions) forbidden(ctx context.Context, d *deployed) error {
	me := "USER"
	if kinds, _, err := o.open(); err == nil {
		if name, err := whoami(ctx, kinds); err == nil {
			me = name
		}
	}
	return fmt.Errorf(`cannot read the record of %[1]s: %[2]s may not get Secrets in namespace %[3]s, where what is installed is recorded: whoever may gives that by
kubectl create role orcon-records -n %[3]s --verb=get,create,update,delete --resource=secrets
kubectl create rolebinding orcon-records -n %[3]s --role=orcon-records --user=%[2]s`, d.Owner, me, d.namespace)
}

// installed returns an error if nothing is stored; verb is what the user wants.
func (d *deployed) installed(verb string) error {
	if d.Record().Last().Number > 0 {
		return nil
	}
	return fmt.Errorf("cannot %s %s: nothing of that name is installed in namespace %[3]s; what is: kubectl get secrets -n %[3]s --field-selector type=%[4]s",
		verb, d.Owner, d.namespace, cluster.RecordType)
}

// wish returns what a source means in the cluster.
func (d *deployed) wish(objects []bundle.Object) (engine.Wish, error) {
	placed, err := bundle.Place(objects, d.namespace, d.world.Namespaced)
	if err != nil {
		return engine.Wish{}, err
	}
	sequence, err := bundle.Order(placed)
	return engine.Wish{Sequence: sequence}, err
}

// coded gives errors of a run their exit codes.
func coded(err error) error {
	refused, isRefused := errors.AsType[*bundle.RefusedError](err)
	_, isChanged := errors.AsType[*bundle.ChangedError](err)
	switch {
	case errors.Is(err, engine.ErrTimeout):
		return codeError{err, exitTimeout}
	case isRefused && slices.Contains([]bundle.Reason{bundle.Conflicted, bundle.Refused, bundle.InUse}, refused.Reason), isChanged, errors.Is(err, cluster.ErrMoved):
		return codeError{err, exitConflict}
	default:
		return err
	}
}
