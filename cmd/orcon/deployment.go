package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"
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
		err = bundle.Approve(p, bundle.Gate{}, []bundle.Approval{approval})
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

// connect returns the deployment of a name.
func (o *deploymentOptions) connect(c *cobra.Command, name string) (*deployed, error) {
	if !regexp.MustCompile(deploymentName).MatchString(name) {
		return nil, fmt.Errorf("cannot use name %q: write at most 52 small letters, digits and dashes, for instance --name shop", name)
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
	return &deployed{world: world, namespace: namespace, Engine: &engine.Engine{
		Cluster: world, Store: cluster.NewStore(world), Owner: owner, Identity: identity,
		Timeout: o.timeout, Now: time.Now, Tell: progress.tell,
	}}, nil
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
	case errors.Is(err, bundle.ErrQuarantined):
		return fmt.Errorf("%w: --retry", err)
	case errors.Is(err, engine.ErrTimeout):
		return codeError{err, exitTimeout}
	case isRefused && slices.Contains([]bundle.Reason{bundle.Conflicted, bundle.Refused, bundle.InUse}, refused.Reason), isChanged, errors.Is(err, cluster.ErrMoved):
		return codeError{err, exitConflict}
	default:
		return err
	}
}
